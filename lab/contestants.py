"""Everybody who may enter, in the order of the tables."""

from contestant_ebbgate import Ebbgate
from contestant_haproxy import Haproxy, HaproxyAddDel, HaproxyDrain, HaproxyTuned
from contestant_nginx import Nginx, NginxTuned

ALL = (Ebbgate, Haproxy, HaproxyDrain, HaproxyAddDel, HaproxyTuned, Nginx, NginxTuned)
NAMES = tuple(one.name for one in ALL)
BY_NAME = {one.name: one for one in ALL}
IN_DEATHS = ("ebbgate", "haproxy", "haproxy-tuned", "nginx", "nginx-tuned")  # how an endpoint leaves is not the question there

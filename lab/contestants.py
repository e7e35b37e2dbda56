"""All contestants, in the order of the tables."""

from contestant_ebbgate import Ebbgate
from contestant_haproxy import Haproxy, HaproxyAddDel, HaproxyDrain, HaproxyTuned
from contestant_nginx import Nginx, NginxTuned
from contestant_node import Linux, Reap

ROUTING = (Ebbgate, Haproxy, HaproxyDrain, HaproxyAddDel, HaproxyTuned, Nginx, NginxTuned)
BY_NAME = {one.name: one for one in (*ROUTING, Linux, Reap)}
NAMES = tuple(BY_NAME)
ROUTERS = tuple(one.name for one in ROUTING)
IN_DEATHS = ("ebbgate", "haproxy", "haproxy-tuned", "nginx", "nginx-tuned")  # these scenes do not depend on how an endpoint leaves

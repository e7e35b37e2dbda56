"""Objects that tests make, as short as they can be written."""


def pod(name, image="rig/server", *, labels=None, grace=30, spec=None, **container):
    """`container` are fields of its only container, `spec` further fields of the pod."""
    return {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": name, "labels": labels or {"app": name}},
            "spec": {"terminationGracePeriodSeconds": grace, **(spec or {}), "containers": [{"name": "main", "image": image, **container}]}}


def deployment(name, replicas, image="rig/server", *, spec=None, **container):
    template = pod(name, image, spec=spec, **container)
    del template["apiVersion"], template["kind"], template["metadata"]["name"]
    return {"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": name},
            "spec": {"replicas": replicas, "selector": {"matchLabels": {"app": name}}, "template": template}}


def service(name, port=8080):
    return {"apiVersion": "v1", "kind": "Service", "metadata": {"name": name},
            "spec": {"selector": {"app": name}, "ports": [{"name": "http", "port": 80, "targetPort": port}]}}


def config_map(name, **data):
    return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name}, "data": data}


def environment(**values):
    return [{"name": name, "value": value} for name, value in values.items()]


def host_folder(path, at):
    """(fields of the pod, fields of the container) that mount a folder of the machine."""
    return {"volumes": [{"name": "host", "hostPath": {"path": str(path)}}]}, {"volumeMounts": [{"name": "host", "mountPath": at}]}


HTTP_READY = {"httpGet": {"path": "/healthz", "port": 8080}, "periodSeconds": 1, "failureThreshold": 1}

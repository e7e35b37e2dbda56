"""The volumes of a pod as folders, written as the kubelet writes them: files are links into `..data`, which changes in one step."""

import base64
import pathlib
import secrets

import api


class NotYet(Exception):
    """The source of a volume does not exist; the kubelet waits for it."""


def write(folder, files):
    folder.mkdir(parents=True, exist_ok=True)
    version = folder / f"..{secrets.token_hex(8)}"
    for name, content in files.items():
        target = version / name
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_bytes(content)
    version.mkdir(exist_ok=True)
    beside = folder / "..data_tmp"
    beside.symlink_to(version.name)
    beside.rename(folder / "..data")
    for first in {pathlib.PurePath(name).parts[0] for name in files}:
        if not (folder / first).is_symlink():
            (folder / first).symlink_to(f"..data/{first}")


class Volumes:
    def __init__(self, client, pod, fields):
        """`pod` is the object; `fields(path)` is the value of a field that the downward API names."""
        self._api, self._pod, self._fields = client, pod, fields
        self._namespace = f"/api/v1/namespaces/{pod['metadata']['namespace']}"

    def make(self, folder):
        """Yields (volume's name, path of its files)."""
        for volume in self._pod["spec"].get("volumes", []):
            path = folder / volume["name"]
            if "hostPath" in volume:
                path = pathlib.Path(volume["hostPath"]["path"])
                if volume["hostPath"].get("type") == "DirectoryOrCreate":
                    path.mkdir(parents=True, exist_ok=True)
            elif "emptyDir" in volume:
                path.mkdir(parents=True, exist_ok=True)
            elif "projected" in volume:
                files = {}
                for source in volume["projected"]["sources"]:
                    for kind, settings in source.items():
                        files.update(self._files(kind, settings, settings.get("name")))
                write(path, files)
            else:
                kind = next(key for key in volume if key != "name")
                settings = volume[kind]
                write(path, self._files(kind, settings, settings.get("secretName") or settings.get("name")))
            yield volume["name"], path

    def value(self, kind, name, key, optional=False):
        """One value of a Secret or ConfigMap, for an environment variable."""
        content = self._content(kind, name, optional).get(key)
        if content is None and not optional:
            raise NotYet(f"{kind} {name} has no key {key}")
        return None if content is None else content.decode()

    def _files(self, kind, settings, name):
        if kind == "serviceAccountToken":
            return {settings["path"]: self._token(settings)}
        if kind == "downwardAPI":
            return {item["path"]: self._fields(item["fieldRef"]["fieldPath"]).encode() for item in settings.get("items", [])}
        if kind not in ("secret", "configMap"):
            raise ValueError(f"the rig has no volumes of the kind {kind}")
        content = self._content(kind, name, settings.get("optional", False))
        if "items" not in settings:
            return content
        if missing := [item["key"] for item in settings["items"] if item["key"] not in content]:
            raise NotYet(f"{kind} {name} has no key {missing[0]}")
        return {item["path"]: content[item["key"]] for item in settings["items"]}

    def _content(self, kind, name, optional):
        try:
            found = self._api.get(f"{self._namespace}/{'secrets' if kind == 'secret' else 'configmaps'}/{name}")
        except api.ApiError as error:
            if error.status == 404 and optional:
                return {}
            raise NotYet(f"{kind} {name}: {error}") from error
        plain = {} if kind == "secret" else found.get("data", {})
        encoded = found.get("data", {}) if kind == "secret" else found.get("binaryData", {})
        return {**{key: text.encode() for key, text in plain.items()}, **{key: base64.b64decode(text) for key, text in encoded.items()}}

    def _token(self, settings):
        meta = self._pod["metadata"]
        account = self._pod["spec"].get("serviceAccountName", "default")
        request = {"apiVersion": "authentication.k8s.io/v1", "kind": "TokenRequest", "spec": {
            "audiences": [settings["audience"]] if settings.get("audience") else [],
            "expirationSeconds": settings.get("expirationSeconds", 3600),
            "boundObjectRef": {"apiVersion": "v1", "kind": "Pod", "name": meta["name"], "uid": meta["uid"]}}}
        return self._api.request("POST", f"{self._namespace}/serviceaccounts/{account}/token", request)["status"]["token"].encode()

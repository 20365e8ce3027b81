#!/usr/bin/env python3
"""Checks what deploy/ says of containers without a container engine: the Dockerfile's steps, the compose
file, the Kubernetes manifests, Prometheus' scrape configuration and HAProxy's.

    deploy_files.py              checks the tree this file lies in; exit 1 and a line per fault
    deploy_files.py --self-test  checks that faults put into copies are found
"""

import json
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

import yaml

USER = 65532
PORTS = {8000, 8001}
PROBES = ("startupProbe", "readinessProbe", "livenessProbe")
INSTRUCTIONS = {"FROM", "WORKDIR", "ENV", "COPY", "RUN", "LABEL", "USER", "VOLUME", "EXPOSE",
                "STOPSIGNAL", "HEALTHCHECK", "ENTRYPOINT", "ARG"}


def dockerfile_steps(text):
    """[(instruction, rest)], with continued lines joined."""
    lines = [line for line in text.splitlines() if not line.lstrip().startswith("#")]
    joined = re.sub(r"\\\n\s*", "", "\n".join(lines))
    return [tuple(line.split(None, 1)) for line in joined.splitlines() if line.strip()]


def flags_of(root):
    """Environment twins of pullbackd's flags."""
    flags = re.findall(r'"--([a-z-]+)"', (root / "server/main.cc").read_text())
    return {"PULLBACK_" + flag.upper().replace("-", "_") for flag in flags}


def check_dockerfile(root, fault):
    steps = dockerfile_steps((root / "deploy/container/Dockerfile").read_text())
    for step in steps:
        if step[0] not in INSTRUCTIONS or len(step) != 2:
            fault(f"Dockerfile: no instruction: {' '.join(step)[:60]}")
    stages = [i for i, step in enumerate(steps) if step[0] == "FROM"]
    if len(stages) != 2:
        return fault("Dockerfile: not two stages")
    for i in stages:
        if not steps[i][1].startswith("debian:bookworm-slim"):
            fault(f"Dockerfile: another base: {steps[i][1]}")
    last = {}
    for name, rest in steps[stages[1]:]:
        last.setdefault(name, []).append(rest)
    if last.get("USER") != [f"{USER}:{USER}"]:
        fault("Dockerfile: does not run as the unprivileged user")
    if last.get("STOPSIGNAL") != ["SIGTERM"]:
        fault("Dockerfile: STOPSIGNAL")
    if last.get("ENTRYPOINT") != ['["/usr/local/bin/pullbackd"]']:
        fault("Dockerfile: ENTRYPOINT")
    if set(map(int, " ".join(last.get("EXPOSE", [])).split())) != PORTS:
        fault("Dockerfile: EXPOSE")
    environment = dict(re.findall(r"(PULLBACK_\w+)=(\S+)", " ".join(last.get("ENV", []))))
    for name in environment.keys() - flags_of(root):
        fault(f"Dockerfile: {name} is no flag's twin")
    if last.get("VOLUME") != [environment.get("PULLBACK_CACHE_DIR")]:
        fault("Dockerfile: the cache is no volume")
    check_health_check(" ".join(last.get("HEALTHCHECK", [])), fault)
    copied = [rest for name, rest in steps if name == "COPY" and "--from" not in rest]
    for path in " ".join(copied).split():
        if path != "." and not (root / path).exists():
            fault(f"Dockerfile: nothing to copy: {path}")


def check_health_check(text, fault):
    """HTTP, where the variables say: gRPC may speak TLS."""
    options, command, words = text.partition("CMD ")
    if "--timeout=" not in options or not command:
        return fault("Dockerfile: no HEALTHCHECK with a timeout")
    line = json.loads(words)
    if line[:2] != ["/bin/bash", "-c"]:
        return fault("Dockerfile: HEALTHCHECK: not bash, which has /dev/tcp")
    for part in ("/dev/tcp/$PULLBACK_HTTP_HOST/$PULLBACK_HTTP_PORT", "GET /readyz "):
        if part not in line[2]:
            fault(f"Dockerfile: HEALTHCHECK without {part}")


def check_compose(root, fault):
    compose = yaml.safe_load((root / "deploy/compose/compose.yaml").read_text())
    services = compose["services"]
    for name in ("one", "two", "haproxy", "prometheus"):
        service = services.get(name)
        if service is None:
            fault(f"compose: no service {name}")
            continue
        if not service.get("read_only") or service.get("cap_drop") != ["ALL"]:
            fault(f"compose: {name} is not read-only without capabilities")
        for volume in service.get("volumes", []):
            source = volume.split(":")[0]
            here = (root / "deploy/compose" / source).exists() if source[0] == "." else (
                source in compose["volumes"])
            if not here:
                fault(f"compose: no volume {source}")
    for name in ("one", "two"):
        build = services[name]["build"]
        if not (root / "deploy/compose" / build["context"] / build["dockerfile"]).exists():
            fault("compose: no Dockerfile")
        for variable in services[name].get("environment", {}).keys() - flags_of(root):
            fault(f"compose: {variable} is no flag's twin")
    scrape = yaml.safe_load((root / "deploy/compose/prometheus.yml").read_text())
    for job in scrape["scrape_configs"]:
        for target in (t for static in job["static_configs"] for t in static["targets"]):
            host, port = target.split(":")
            if host not in services or int(port) != 8000:
                fault(f"prometheus: nobody serves metrics at {target}")
    check_haproxy_environment(root, services["haproxy"]["environment"], "compose", fault)


def check_haproxy_environment(root, given, where, fault):
    config = (root / "deploy/haproxy/haproxy.cfg").read_text()
    for name in set(re.findall(r"\$\{(\w+)\}", config)) ^ set(given):
        fault(f"{where}: HAProxy's {name} is wanted or given, not both")


def pod_faults(name, pod, fault):
    security = pod.get("securityContext", {})
    if not security.get("runAsNonRoot") or not security.get("runAsUser"):
        fault(f"{name}: may run as root")
    for container in pod["containers"]:
        own = container.get("securityContext", {})
        if (not own.get("readOnlyRootFilesystem") or own.get("allowPrivilegeEscalation") is not False
                or own.get("capabilities", {}).get("drop") != ["ALL"]):
            fault(f"{name}: the container may do too much")
        if "memory" not in container.get("resources", {}).get("limits", {}):
            fault(f"{name}: no memory limit")
        volumes = {v["name"] for v in pod.get("volumes", [])} | {"cache"}
        for mount in container.get("volumeMounts", []):
            if mount["name"] not in volumes:
                fault(f"{name}: no volume {mount['name']}")


def check_kubernetes(root, fault):
    documents = [document for path in sorted((root / "deploy/kubernetes").glob("*.yaml"))
                 for document in yaml.safe_load_all(path.read_text())]
    by_name = {(d["kind"], d["metadata"]["name"]): d for d in documents}
    for document in documents:
        for field in ("apiVersion", "kind", "metadata", "spec"):
            if field not in document:
                fault(f"kubernetes: no {field}")
    for kind, name in (("Service", "pullback"), ("StatefulSet", "pullback"),
                       ("NetworkPolicy", "pullback"), ("PodDisruptionBudget", "pullback"),
                       ("Service", "pullback-haproxy"), ("Deployment", "pullback-haproxy")):
        if (kind, name) not in by_name:
            return fault(f"kubernetes: no {kind} {name}")
    for kind, name in (("StatefulSet", "pullback"), ("Deployment", "pullback-haproxy")):
        spec = by_name[kind, name]["spec"]
        labels = spec["template"]["metadata"]["labels"]
        if not spec["selector"]["matchLabels"].items() <= labels.items():
            fault(f"{name}: its selector does not select its pods")
        if not by_name["Service", name]["spec"]["selector"].items() <= labels.items():
            fault(f"{name}: its service does not select its pods")
        pod_faults(name, spec["template"]["spec"], fault)
    pod = by_name["StatefulSet", "pullback"]["spec"]["template"]["spec"]
    server = pod["containers"][0]
    if pod["securityContext"]["runAsUser"] != USER:
        fault("pullback: not the image's user")
    for probe in PROBES:
        if server.get(probe, {}).get("grpc", {}).get("port") != 8001:
            fault(f"pullback: {probe} does not ask gRPC")
    variables = {e["name"]: e["value"] for e in server["env"]}
    for name in variables.keys() - flags_of(root):
        fault(f"pullback: {name} is no flag's twin")
    if pod["terminationGracePeriodSeconds"] <= 5 + int(variables["PULLBACK_DRAIN_TIMEOUT"][:-1]):
        fault("pullback: killed before it has drained")
    proxy = by_name["Deployment", "pullback-haproxy"]["spec"]["template"]["spec"]["containers"][0]
    given = {e["name"]: e["value"] for e in proxy["env"] if "value" in e}
    check_haproxy_environment(root, given, "kubernetes", fault)
    check_server_names(by_name["StatefulSet", "pullback"], proxy["env"], fault)


def check_server_names(servers, environment, fault):
    """HAProxy's resolver knows no search domains, so that names have to be full; $(X) is what stands before it."""
    name, service = servers["metadata"]["name"], servers["spec"]["serviceName"]
    before, numbers = set(), set()
    for entry in environment:
        path = entry.get("valueFrom", {}).get("fieldRef", {}).get("fieldPath")
        if entry["name"].startswith("PULLBACK_SERVER_"):
            full = re.fullmatch(rf"{name}-(\d+)\.{service}\.\$\(POD_NAMESPACE\)\.svc(\.[a-z0-9-]+)+:8001", entry["value"])
            if full is None or ("POD_NAMESPACE", "metadata.namespace") not in before:
                fault(f"kubernetes: HAProxy's {entry['name']} is not a server's full name: {entry['value']}")
            else:
                numbers.add(int(full[1]))
        before.add((entry["name"], path))
    if numbers != set(range(servers["spec"]["replicas"])):
        fault("kubernetes: HAProxy's servers are not those of the StatefulSet")


def check_haproxy(root, fault):
    config = (root / "deploy/haproxy/haproxy.cfg").read_text()
    settings = re.sub(r"#.*", "", config)
    if "shutdown-sessions" in settings:
        fault("haproxy: a failed check ends what a draining server still answers")
    for wanted in ("error-status L7OKC", "option srvtcpka", "timeout check"):
        if wanted not in settings:
            fault(f"haproxy: no {wanted}")
    program = shutil.which("haproxy", path="/usr/sbin:/usr/bin:/usr/local/sbin:/usr/local/bin")
    if program is None:
        return fault("haproxy is not installed (deploy/packages.txt)")
    with tempfile.TemporaryDirectory() as folder:
        subprocess.run([root / "tests/support/certificates.sh", folder, "a"], check=True,
                       stderr=subprocess.DEVNULL)
        environment = {"PULLBACK_BIND": "127.0.0.1:1", "PULLBACK_PEM": f"{folder}/a.pem"}
        for i in "12":
            environment[f"PULLBACK_SERVER_{i}"] = f"127.0.0.1:{i}"
            environment[f"PULLBACK_HTTP_PORT_{i}"] = i
        checked = subprocess.run([program, "-c", "-f", root / "deploy/haproxy/haproxy.cfg"],
                                 env=environment, capture_output=True, text=True)
    if checked.returncode != 0:
        fault(f"haproxy: {checked.stderr}")


def check(root):
    faults = []
    for part in (check_dockerfile, check_compose, check_kubernetes, check_haproxy):
        try:
            part(root, faults.append)
        except (KeyError, TypeError, ValueError, yaml.YAMLError, OSError) as error:
            faults.append(f"{part.__name__}: {type(error).__name__}: {error}")
    return faults


# File, what is replaced in it, by what.
BREAKS = (
    ("deploy/container/Dockerfile", f"USER {USER}:{USER}", "USER root"),
    ("deploy/container/Dockerfile", "VOLUME /var/cache/pullback", "VOLUME /tmp"),
    ("deploy/container/Dockerfile", "PULLBACK_HTTP_PORT", "PULLBACK_HTTPS_PORT"),
    ("deploy/container/Dockerfile", "COPY deploy/install.sh", "COPY deploy/uninstall.sh"),
    ("deploy/container/Dockerfile", "STOPSIGNAL SIGTERM\n", ""),
    ("deploy/compose/compose.yaml", "read_only: true", "read_only: false"),
    ("deploy/compose/compose.yaml", "PULLBACK_SERVER_2", "PULLBACK_SERVER_3"),
    ("deploy/compose/compose.yaml", "services:", "services"),
    ("deploy/compose/prometheus.yml", "two:8000", "two:8001"),
    ("deploy/kubernetes/pullback.yaml", "grpc: {port: 8001}", "tcpSocket: {port: 8001}"),
    ("deploy/kubernetes/pullback.yaml", "runAsNonRoot: true", "runAsNonRoot: false"),
    ("deploy/kubernetes/pullback.yaml", "terminationGracePeriodSeconds: 45",
     "terminationGracePeriodSeconds: 30"),
    ("deploy/kubernetes/haproxy.yaml", "readOnlyRootFilesystem: true", "privileged: true"),
    ("deploy/kubernetes/haproxy.yaml", "pullback-0.pullback.$(POD_NAMESPACE).svc.cluster.local", "pullback-0.pullback"),
    ("deploy/kubernetes/haproxy.yaml", "pullback-1.pullback.$(POD_NAMESPACE).svc.cluster.local",
     "pullback-1.pullback.$(POD_NAMESPACE).svc"),
    ("deploy/kubernetes/haproxy.yaml", "{name: POD_NAMESPACE,", "{name: NAMESPACE,"),
    ("deploy/kubernetes/haproxy.yaml", "pullback-1.pullback", "pullback-2.pullback"),
    ("deploy/haproxy/haproxy.cfg", "balance hdr", "balance headers"),
    ("deploy/haproxy/haproxy.cfg", "fall 2", "fall 2 on-marked-down shutdown-sessions"),
    ("deploy/haproxy/haproxy.cfg", " error-status L7OKC", ""),
    ("deploy/container/Dockerfile", "GET /readyz", "GET /"),
    ("deploy/container/Dockerfile", "$PULLBACK_HTTP_PORT", "8001"),
)


def self_test(root):
    missed = 0
    for file, old, new in BREAKS:
        with tempfile.TemporaryDirectory() as folder:
            copy = pathlib.Path(folder)
            for path in ("deploy", "server/main.cc", "tests/support/certificates.sh"):
                target = copy / path
                target.parent.mkdir(parents=True, exist_ok=True)
                (shutil.copytree if (root / path).is_dir() else shutil.copy)(root / path, target)
            text = (copy / file).read_text()
            assert old in text, (file, old)
            (copy / file).write_text(text.replace(old, new, 1))
            if not check(copy):
                missed += 1
                print(f"self-test: not noticed: {file}: {old!r} -> {new!r}")
    print(f"self-test: {len(BREAKS)} cases, {missed} failures")
    return missed


def main():
    root = pathlib.Path(__file__).resolve().parent.parent
    if "--self-test" in sys.argv:
        return 1 if self_test(root) else 0
    faults = check(root)
    print("\n".join(faults + [f"deploy files: {len(faults)} faults"]))
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main())

using Workerd = import "/workerd/workerd.capnp";

const config :Workerd.Config = (
  services = [
    (name = "main", worker = .worker),
    (name = "internet", network = (allow = ["local"])),
  ],
  sockets = [(name = "http", address = "127.0.0.1:0", http = (), service = "main")],
);

const worker :Workerd.Worker = (
  modules = [(name = "worker", esModule = embed "worker.bundle.js")],
  compatibilityDate = "2026-11-01",
  bindings = [
    (name = "SIGNALBOX_TOKEN", fromEnvironment = "SIGNALBOX_TOKEN"),
    (name = "SIGNALBOX_BASE_URL", fromEnvironment = "SIGNALBOX_BASE_URL"),
    (name = "CAPTURED_AT", fromEnvironment = "CAPTURED_AT"),
  ],
);

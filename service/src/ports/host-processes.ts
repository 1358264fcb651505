// Which process of which host: written beside what a worker holds, so that any process of the same host can tell at
// once that the worker is dead, without waiting for its lease.
//
//   1. `self` names this process; no other process of any host, before or after, has the same name.
//   2. `isDead` is true only for a process of this host, and this process's view of it, that certainly does not run any
//      more. When in doubt (another host, another PID namespace, a system without /proc) it is false.

export interface HostProcesses {
  readonly self: string
  isDead(id: string): Promise<boolean>
}

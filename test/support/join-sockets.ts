import type { Socket } from "node:net";

/** Lets two sockets of a proxy end together, and keeps both in `open` until they are closed. */
export function joinSockets(near: Socket, far: Socket, open: Set<Socket>): void {
  for (const [from, to] of [
    [near, far],
    [far, near],
  ] as const) {
    open.add(from);
    from.on("error", () => to.destroy());
    from.on("close", () => {
      open.delete(from);
      to.destroy();
    });
  }
}

import { condition, defineSignal, proxyActivities, setHandler } from "@temporalio/workflow";
import type { KeyActivities } from "../activities.ts";

const { keyOverlapLeft, retireSigningKey } = proxyActivities<KeyActivities>({
  startToCloseTimeout: "30s",
  retry: { initialInterval: "1s", backoffCoefficient: 2, maximumInterval: "30s" },
});

/** The key was replaced or deleted: read its row again. */
export const keyChangedSignal = defineSignal("key-changed");

/**
 * Waits until the overlap of a replaced key ends and retires the key; returns early when the key is deleted. Id:
 * `key-rotation/<key id>`.
 */
export async function rotateKey(keyId: string): Promise<void> {
  let changed = false;
  setHandler(keyChangedSignal, () => {
    changed = true;
  });
  for (;;) {
    changed = false;
    const left = await keyOverlapLeft(keyId);
    if (left === null) return;
    if (left > 0) await condition(() => changed, left);
    else await retireSigningKey(keyId);
  }
}

import { dateOf } from "../../../platform/clock.ts";
import type { CallerContext } from "../../../platform/context.ts";
import { presentTime } from "../../../platform/db/time.ts";
import { newWebhookSecret } from "../../../platform/outgoing/signature.ts";
import { causedBy, EVENTS } from "../../event-catalogue/index.ts";
import type { MarketplaceDeps } from "../deps.ts";
import { secretContext } from "../deps.ts";
import { lockAdministeredApp } from "./administered-app.ts";

/** Rotating an app's secret and key. */
export function createAdministration(deps: MarketplaceDeps) {
  const { clock, random, sealer, events } = deps;
  return {
    /**
     * Replaces an app's webhook secret; the old one stops being valid at once.
     * @throws {app_not_found} when there is no such app
     */
    rotateSecret: (context: CallerContext, appId: string): Promise<string> =>
      context.transaction(async (tx) => {
        const app = await lockAdministeredApp(deps, tx, context.caller, appId);
        const secret = newWebhookSecret(random);
        app.webhookSecret = sealer.seal(secret, secretContext(app.appId));
        app.updatedAt = dateOf(clock);
        await events.emit(tx, EVENTS["app.secret_rotated"], {
          by: causedBy(context),
          orgUuid: app.orgUuid,
          resourceId: app.appId,
          metadata: { app_id: app.appId },
        });
        return secret;
      }),

    /**
     * Invalidates every `app_admin` claim for this app that was issued before, and nothing else (decisions 6.5).
     * @throws {app_not_found} when there is no such app
     */
    rotateKey: (context: CallerContext, appId: string): Promise<{ keyId: string; rotatedAt: Date }> =>
      context.transaction(async (tx) => {
        const app = await lockAdministeredApp(deps, tx, context.caller, appId);
        const [keyId, rotatedAt] = [random.uuid(), await presentTime(tx, clock)];
        app.keyId = keyId;
        app.keyRotatedAt = rotatedAt;
        await events.emit(tx, EVENTS["app.key_rotated"], {
          by: causedBy(context),
          orgUuid: app.orgUuid,
          resourceId: app.appId,
          metadata: { app_id: app.appId, kind: "app", key_id: keyId },
        });
        return { keyId, rotatedAt };
      }),
  };
}

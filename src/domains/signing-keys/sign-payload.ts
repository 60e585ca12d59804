import { dateOf } from "../../platform/clock.ts";
import type { CallerContext } from "../../platform/context.ts";
import { signJwt } from "../../platform/crypto/jwt.ts";
import { errors } from "../../platform/errors.ts";
import type { Random } from "../../platform/random.ts";
import { causedBy, EVENTS } from "../event-catalogue/index.ts";
import { keyErrors } from "./errors.ts";
import type { ManageDeps } from "./manage.ts";
import { listKeys } from "./manage-store.ts";
import type { KeyRow } from "./manage-store.ts";
import { readPayload } from "./rules.ts";
import type { Signing } from "./signing.ts";

/** Dependencies of signing payloads. */
interface SignPayloadDeps extends ManageDeps {
  random: Pick<Random, "uuid">;
  config: ManageDeps["config"] & {
    /** Claim `iss` of the tokens: the public URL of the service. */
    baseUrl: string;
  };
}

/** Header `typ` of these tokens, so that none is accepted as a bearer token (decisions 6.3). */
const TOKEN_TYPE = "atrium-signed+jwt";

/** Signing payloads with an organization's active key (decisions 6.3). */
export function createSignPayload({ database, clock, random, events, config }: SignPayloadDeps, signing: Signing) {
  return {
    /**
     * Signs a payload as a JWT with the organization's active key.
     * @throws {validation_error} when the payload has reserved claims, an `exp` out of range or rounded integers
     * @throws {key_not_found} when the organization has no such key
     * @throws {conflict} when the key is not the active one
     */
    async sign(
      context: CallerContext,
      orgUuid: string,
      kid: string,
      payload: Readonly<Record<string, unknown>>,
    ): Promise<{ token: string; key: KeyRow }> {
      const nowSeconds = Math.floor(clock.now() / 1000);
      const read = readPayload(payload, nowSeconds);
      if ("violations" in read) throw errors.validation({ fields: read.violations });
      const key = (await listKeys(database, orgUuid, dateOf(clock))).find((candidate) => candidate.kid === kid);
      if (key === undefined) throw keyErrors.notFound();
      if (!key.active) throw keyErrors.notActive();
      return context.transaction(async (tx) => {
        const signer = await signing.active(tx, orgUuid, new Date(read.exp * 1000));
        if (signer.kid !== kid) throw keyErrors.notActive();
        const token = await signJwt(signer, TOKEN_TYPE, {
          ...payload,
          exp: read.exp,
          iss: config.baseUrl,
          iat: nowSeconds,
          jti: random.uuid(),
          org: orgUuid,
        });
        await events.emit(tx, EVENTS["signing_key.used"], {
          by: causedBy(context),
          orgUuid,
          resourceId: kid,
          metadata: { key_id: kid },
        });
        return { token, key };
      });
    },
  };
}

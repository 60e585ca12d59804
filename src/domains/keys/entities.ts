import { defineEntity, p } from "@mikro-orm/postgresql";
import type { KeyAlgorithm, PublicJwk } from "../../platform/crypto/jwk.ts";

const SigningKeyRecordSchema = defineEntity({
  name: "SigningKeyRecord",
  tableName: "signing_keys",
  properties: {
    kid: p.text().primary(),
    orgUuid: p.uuid().nullable(),
    algorithm: p.text().$type<KeyAlgorithm>(),
    publicJwk: p.json().$type<PublicJwk>(),
    publicPem: p.text(),
    privateKey: p.blob(),
    description: p.text(),
    active: p.boolean(),
    validUntil: p.datetime(3).nullable(),
    createdAt: p.datetime(3),
  },
});

/** A signing key of an organization, or of the instance when it has none. */
export class SigningKeyRecord extends SigningKeyRecordSchema.class {
  /** Signs nothing from now on, and is accepted until `until`. */
  retire(until: Date): void {
    this.active = false;
    this.validUntil = until;
  }
}
SigningKeyRecordSchema.setClass(SigningKeyRecord);

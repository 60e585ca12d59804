import { defineConcurrentMigration } from "../platform/db/migrator.ts";

/** Sign-ins of a person by address: whether an attempt comes from one that has signed them in. */
export const signInAddresses = defineConcurrentMigration("0097-sign-in-addresses", [
  {
    index: "sessions_sign_ins",
    on: 'sessions (user_uuid, ip_address collate "C", created_at) where source_uuid is null',
  },
]);

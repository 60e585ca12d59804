import { defineMigration } from "../platform/db/migrator.ts";

// Of the links that there are nobody knows how they were made; their people can link them anew.
const ownLinks = "alter table oidc_identities add column by_person boolean not null default false";

/** Which identities their people linked themselves, from a session that no identity provider had opened. */
export const oidcOwnLinks = defineMigration("0094-oidc-own-links", [ownLinks]);

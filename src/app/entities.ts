import { DOMAINS } from "../domains/order.ts";

/** Entities of every domain. */
export const entities = DOMAINS.definitions.flatMap((definition) => definition.entities);

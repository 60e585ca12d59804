import type { Listing } from "./list.ts";

const LIST_RESPONSE = "urn:ietf:params:scim:api:messages:2.0:ListResponse";

/** A page as the contract's message. */
export function listMessage<Row, Message>(
  { totalResults, startIndex, nextCursor }: Listing<Row>,
  Resources: Message[],
) {
  return { schemas: [LIST_RESPONSE], totalResults, startIndex, itemsPerPage: Resources.length, nextCursor, Resources };
}

import type { Database, Tx } from "../../platform/db/types.ts";

/** A picture as it is served. */
export interface Picture {
  contentType: string;
  /** With its quotes, as the header has it. */
  etag: string;
  image: Buffer;
}

/** Whether somebody belongs to an organization, and the picture they have set. */
export async function pictureIn(
  database: Pick<Database, "prepared">,
  orgUuid: string,
  userUuid: string,
): Promise<{ picture: Picture | undefined } | undefined> {
  const sql = `select p.content_type as "contentType", p.etag, p.image
    from memberships m left join pictures p on p.user_uuid = m.user_uuid
    where m.org_uuid = $1 and m.user_uuid = $2 and m.status <> 'removed'`;
  const [row] = await database.prepared<Picture | { contentType: null }>("users_picture", sql, [orgUuid, userUuid]);
  if (row === undefined) return undefined;
  return { picture: row.contentType === null ? undefined : row };
}

/** Stores somebody's picture in the place of any before it. */
export async function setPicture(
  tx: Tx,
  userUuid: string,
  { contentType, etag, image }: Picture,
  at: Date,
): Promise<void> {
  await tx.query(
    `insert into pictures (user_uuid, content_type, etag, image, set_at) values ($1, $2, $3, $4, $5)
     on conflict (user_uuid) do update set content_type = excluded.content_type, etag = excluded.etag,
       image = excluded.image, set_at = excluded.set_at`,
    [userUuid, contentType, etag, image, at],
  );
}

/** Deletes the picture of somebody. */
export async function deletePicture(tx: Tx, uuid: string): Promise<void> {
  await tx.query("delete from pictures where user_uuid = $1", [uuid]);
}

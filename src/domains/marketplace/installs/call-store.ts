import type { Database } from "../../../platform/db/types.ts";

/** Requests of an install that are kept, the newest. */
const MAX_CALLS = 50;
/** Characters of a body and of an error that are kept. */
const MAX_BODY = 16_384;
const MAX_ERROR = 500;

/** One request to a publisher, without its headers: they carry the signature. */
export interface InstallCall {
  at: Date;
  /** Type of the message. */
  type: string;
  url: string;
  statusCode: number | null;
  error: string | null;
  durationMs: number;
  requestBody: string;
  response: string | null;
}

/** The beginning of a text as the database takes it. */
function kept(text: string, most = MAX_BODY): string {
  return text.replaceAll("\0", "\uFFFD").slice(0, most).toWellFormed();
}

/** Records a request, and deletes the oldest of the install beyond the limit. */
export async function addCall(
  database: Pick<Database, "prepared">,
  installId: string,
  call: InstallCall,
): Promise<void> {
  const sql = `with call as (
      insert into install_calls (install_id, at, type, url, status_code, error, duration_ms, request_body, response)
      values ($1, $2, $3, $4, $5, $6, $7, $8, $9))
    delete from install_calls where install_id = $1 and id <= (
      select id from install_calls where install_id = $1 order by id desc offset ${MAX_CALLS - 1} limit 1)`;
  await database.prepared("install-call", sql, [
    installId,
    call.at,
    call.type,
    call.url,
    call.statusCode,
    call.error === null ? null : kept(call.error, MAX_ERROR),
    call.durationMs,
    kept(call.requestBody),
    call.response === null ? null : kept(call.response),
  ]);
}

/** Requests of an install, newest first. */
export function callsOf(database: Pick<Database, "prepared">, installId: string): Promise<InstallCall[]> {
  const sql = `select at, type, url, status_code as "statusCode", error, duration_ms as "durationMs",
      request_body as "requestBody", response
    from install_calls where install_id = $1 order by id desc limit ${MAX_CALLS}`;
  return database.prepared<InstallCall>("install-calls", sql, [installId]);
}

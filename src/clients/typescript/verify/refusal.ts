/** Why a request is not let in. */
export type RefusalCode = "unauthorized" | "forbidden" | "step_up_required" | "unavailable";

const STATUS: Readonly<Record<RefusalCode, number>> = {
  unauthorized: 401,
  forbidden: 403,
  step_up_required: 403,
  unavailable: 503,
};
const TITLE: Readonly<Record<number, string>> = { 401: "Unauthorized", 403: "Forbidden", 503: "Service Unavailable" };

/** A token that was not accepted, or not enough for what was asked. */
export class TokenRefusal extends Error {
  override readonly name = "TokenRefusal";
  readonly errorCode: RefusalCode;
  /** HTTP status: 401, 403 or 503. */
  readonly status: number;

  constructor(errorCode: RefusalCode, message: string, options?: ErrorOptions) {
    super(message, options);
    this.errorCode = errorCode;
    this.status = STATUS[errorCode];
  }

  /** Headers of the response: the challenge of RFC 6750, and of RFC 9470 for a step-up. */
  get headers(): Record<string, string> {
    const headers: Record<string, string> = { "content-type": "application/json", "cache-control": "no-store" };
    if (this.status === 401) headers["www-authenticate"] = "Bearer";
    if (this.errorCode === "step_up_required")
      headers["www-authenticate"] =
        'Bearer error="insufficient_user_authentication", error_description="A step-up is required", max_age=900';
    if (this.status === 503) headers["retry-after"] = "1";
    return headers;
  }

  /** Body of the response, in the form of the service's own errors (RFC 9457). */
  get problem(): Record<string, string | number> {
    const { errorCode: code, message, status } = this;
    const title = TITLE[status] ?? "";
    return { code, message, type: `urn:atrium:error:${code}`, title, status, detail: message };
  }
}

export const unauthorized = (message: string, cause?: unknown): TokenRefusal =>
  new TokenRefusal("unauthorized", message, { cause });

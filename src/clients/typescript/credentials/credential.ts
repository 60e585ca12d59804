import type { DescMethod } from "@bufbuild/protobuf";
import type { Transport } from "../bundled/connect.ts";

/** What a credential may need to renew itself. */
export interface Asking {
  /** The connection to the service, without credential. */
  transport: Transport;
  signal: AbortSignal | undefined;
}

/** What a client presents with its calls. */
export interface Credential {
  /** The token to send; renewed first where it is about to expire. Undefined: the call goes without. */
  token(asking: Asking): Promise<string | undefined> | string | undefined;
  /**
   * Called after a 401 to a call that sent `token`. Resolves to another token, with which the call is repeated once;
   * to undefined when there is none.
   * @param safe the call changes nothing, so that to repeat it is harmless
   */
  renew?(token: string, asking: Asking & { safe: boolean }): Promise<string | undefined>;
  /** Further headers of a call. */
  headers?(method: DescMethod): Readonly<Record<string, string>> | undefined;
  /** The elevated token of a step-up that is still valid. */
  elevated?(): string | undefined;
  /** Called with the result of a step-up. */
  elevate?(elevation: Elevation): void;
  /** Called with an elevated token that was refused. */
  lower?(token: string): void;
  /** The connection itself authenticates the caller, by a client certificate. */
  readonly byConnection?: boolean;
}

/** An elevated token, as `atrium.stepUp.verifyChallenge` returns it. */
export interface Elevation {
  elevatedToken: string;
  /** Lifetime of the token in seconds. */
  expiresIn: number;
}

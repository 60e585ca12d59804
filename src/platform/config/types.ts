import type { LogLevel } from "../log.ts";
import type { HostPort } from "../outgoing/guard.ts";

export type Profile = "development" | "production";

/** Everything a person can set, checked. Names that end in `Ms` are milliseconds. */
export interface Config {
  readonly profile: Profile;
  readonly development: boolean;
  /** Where to listen; port 0 takes a free one. */
  readonly host: string;
  readonly port: number;
  /** Public URL and issuer, without a slash at its end. It may have a path, which the proxy strips. */
  readonly baseUrl: string;
  /** Whether `baseUrl` was set, or is made from the port. */
  readonly baseUrlGiven: boolean;
  readonly dataDir: string;
  readonly database: {
    /** Absent: embedded (development). */
    readonly url: string | undefined;
    /** The owner of the schema; `url` when unset. */
    readonly migrationUrl: string | undefined;
  };
  readonly temporal: {
    /** `host:port`. Absent: embedded (development). */
    readonly address: string | undefined;
    readonly namespace: string;
    readonly apiKey: string | undefined;
    /** False: plain. True: the system's roots. */
    readonly tls:
      | boolean
      | { readonly ca?: string; readonly cert?: string; readonly key?: string; readonly serverName?: string }
      | undefined;
  };
  readonly mail: {
    /** `SERVICE_MAIL=off`: no mail is sent or kept, and routes that exist to mail something return 503. */
    readonly off: boolean;
    /** Absent: the development mailbox. */
    readonly smtpUrl: string | undefined;
    readonly from: string;
  };
  readonly cors: { readonly origins: readonly string[]; readonly anyLoopback: boolean };
  readonly logLevel: LogLevel;
  readonly otlpEndpoint: string | undefined;
  /** First organization and owner; absent: start empty. A password is made when there is none (development). */
  readonly bootstrap:
    | { readonly org: string; readonly email: string; readonly password: string | undefined }
    | undefined;
  readonly openSignup: boolean;
  readonly magicLinkDevEcho: boolean;
  /** Networks as `address/bits`. */
  readonly trustedProxies: readonly string[];
  readonly outgoing: { readonly allow: readonly HostPort[]; readonly allowLoopback: boolean };
  readonly rateLimits: boolean;
  /** Wraps the vault. Absent: made in development, a sealed vault in production. */
  readonly masterKey: Buffer | undefined;
  /** Wraps every other secret. Absent: made in development. */
  readonly instanceKey: Buffer | undefined;
  /** Keys that were in use before; they open what they sealed and never seal (decisions 17.10). */
  readonly previousMasterKey: Buffer | undefined;
  readonly previousInstanceKey: Buffer | undefined;
  /** PEM texts. */
  readonly tls: { readonly cert: string; readonly key: string } | undefined;
  readonly reflection: boolean;
  readonly mtlsPort: number | undefined;
  readonly metricsPort: number | undefined;
  /** SPIFFE trust domains are `<org_uuid>.<trustDomain>`. */
  readonly trustDomain: string;
  /** The browser console: whether it is served, and after how long without input it signs out. */
  readonly console: { readonly on: boolean; readonly idleMs: number };
  readonly stripe: Provider | undefined;
  readonly paddle: Provider | undefined;
  readonly ttl: Lifetimes;
  readonly patience: Patience;
}

/** A payment provider's account. */
export interface Provider {
  readonly apiKey: string;
  readonly webhookSecret: string;
  /** Absent: the provider's own. */
  readonly apiBase: string | undefined;
}

/** Lifetimes, each `SERVICE_TTL_…`. */
export interface Lifetimes {
  readonly accessMs: number;
  readonly pairMs: number;
  readonly magicLinkMs: number;
  readonly magicAccessMs: number;
  readonly elevatedMs: number;
  readonly mfaTokenMs: number;
  readonly stepUpMs: number;
  readonly otpMs: number;
  readonly invitationMs: number;
  readonly refreshMs: number;
  readonly refreshIdleMs: number;
  readonly passwordResetMs: number;
  readonly keyOverlapMs: number;
  readonly secretOverlapMs: number;
  readonly quoteMs: number;
  readonly oidcStateMs: number;
  readonly oidcSessionMs: number;
  readonly secretRestoreMs: number;
  /** Cursors of time-ordered lists. */
  readonly cursorMs: number;
  /** Length of one of the hours that SVID lifetimes are counted in. */
  readonly svidHourMs: number;
}

/** How long things are waited for and tried again. */
export interface Patience {
  readonly stepUpLockMs: number;
  readonly refreshGraceMs: number;
  /** Wait before each attempt after the one before, the first included. */
  readonly webhookScheduleMs: readonly number[];
  readonly webhookTimeoutMs: number;
  readonly provisionDeadlineMs: number;
  readonly deprovisionDeadlineMs: number;
}

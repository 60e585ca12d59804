import type { LogLevel } from "../log.ts";
import type { HostPort } from "../outgoing/guard.ts";

/** Which defaults and requirements apply. */
export type Profile = "development" | "production";

/** All settings, validated. Names that end in `Ms` are milliseconds. */
export interface Config {
  readonly profile: Profile;
  readonly development: boolean;
  /** Listening address; port 0 takes a free port. */
  readonly host: string;
  readonly port: number;
  /** Public URL and issuer, without a trailing slash. It may have a path, which the proxy strips. */
  readonly baseUrl: string;
  /** True when `baseUrl` was set; false when it is derived from the port. */
  readonly baseUrlGiven: boolean;
  readonly dataDir: string;
  readonly database: {
    /** Absent: embedded (development). */
    readonly url: string | undefined;
    /** Connects as the owner of the schema; `url` when unset. */
    readonly migrationUrl: string | undefined;
  };
  readonly temporal: {
    /** `host:port`. Absent: embedded (development). */
    readonly address: string | undefined;
    readonly namespace: string;
    readonly apiKey: string | undefined;
    /** False: no TLS. True: TLS with the system's roots. */
    readonly tls:
      | boolean
      | { readonly ca?: string; readonly cert?: string; readonly key?: string; readonly serverName?: string }
      | undefined;
  };
  readonly mail: {
    /** `SERVICE_MAIL=off`: no mail is sent or stored, and routes that send mail return 503. */
    readonly off: boolean;
    /** Absent: the development mailbox. */
    readonly smtpUrl: string | undefined;
    readonly from: string;
  };
  readonly cors: { readonly origins: readonly string[]; readonly anyLoopback: boolean };
  readonly logLevel: LogLevel;
  readonly otlpEndpoint: string | undefined;
  /** First organization and owner; absent: start empty. Development generates a password when there is none. */
  readonly bootstrap:
    | { readonly org: string; readonly email: string; readonly password: string | undefined }
    | undefined;
  readonly openSignup: boolean;
  readonly magicLinkDevEcho: boolean;
  /** Networks as `address/bits`. */
  readonly trustedProxies: readonly string[];
  readonly outgoing: { readonly allow: readonly HostPort[]; readonly allowLoopback: boolean };
  readonly rateLimits: boolean;
  /** Encrypts the vault. Absent: generated in development; the vault stays sealed in production. */
  readonly masterKey: Buffer | undefined;
  /** Encrypts every other secret. Absent: generated in development. */
  readonly instanceKey: Buffer | undefined;
  /** Former keys: they decrypt what they encrypted and encrypt nothing new (decisions 17.10). */
  readonly previousMasterKey: Buffer | undefined;
  readonly previousInstanceKey: Buffer | undefined;
  /** PEM texts. */
  readonly tls: { readonly cert: string; readonly key: string } | undefined;
  readonly reflection: boolean;
  /** The port of mutual TLS; 0: any free one. Undefined: none. */
  readonly mtlsPort: number | undefined;
  readonly metricsPort: number | undefined;
  /** SPIFFE trust domains are `<org_uuid>.<trustDomain>`. */
  readonly trustDomain: string;
  /** The browser console: whether it is served, and the time without input after which it signs out. */
  readonly console: { readonly on: boolean; readonly idleMs: number };
  readonly stripe: Provider | undefined;
  readonly paddle: Provider | undefined;
  readonly ttl: Lifetimes;
  readonly timing: Timing;
}

/** A payment provider's account. */
export interface Provider {
  readonly apiKey: string;
  readonly webhookSecret: string;
  /** Absent: the provider's default. */
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
  /** Length of the hour in which SVID lifetimes are counted. */
  readonly svidHourMs: number;
}

/** Lockouts, grace periods, retry schedules and deadlines. */
export interface Timing {
  readonly stepUpLockMs: number;
  readonly refreshGraceMs: number;
  /** Wait before each attempt, the first included. */
  readonly webhookScheduleMs: readonly number[];
  readonly webhookTimeoutMs: number;
  readonly provisionDeadlineMs: number;
  readonly deprovisionDeadlineMs: number;
}

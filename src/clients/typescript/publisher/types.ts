/** What the service asks when an organization installs an app. */
export interface ProvisionRequest {
  install_id: string;
  app_id: string;
  slug: string;
  org: { org_uuid: string; name: string };
  installed_by: string | null;
  plan_id: string;
  quantity: number;
  deployment_mode: string;
  payment_source: string;
  sandbox: boolean;
  /** Where `report` posts to. */
  callback_url: string;
  /** When the service gives up, RFC 3339. */
  expires_at: string;
}

/** What the service says when an install ends, is suspended or goes on. */
export interface InstallNotice {
  install_id: string;
  app_id: string;
  [member: string]: unknown;
}

/** How a request of the service is answered. */
export type Provisioned =
  /** The install is ready. */
  | { status: "active"; endpointUrl?: string; message?: string; cloudTarget?: CloudTarget }
  /** It is being worked on; `report` tells the outcome. */
  | { status: "accepted" }
  /** It will not be provisioned. */
  | { status: "refused"; message: string };

export interface CloudTarget {
  provider: string;
  region: string;
}

/** The outcome of what was accepted before. */
export type InstallReport =
  | { status: "active"; endpointUrl?: string; message?: string; cloudTarget?: CloudTarget }
  | { status: "failed"; message?: string }
  | { status: "deprovisioned"; message?: string };

/** A response that was given to a message. */
export interface GivenAnswer {
  status: number;
  body: string;
}

/** Remembers responses by the id of the message, so that a message that comes again has no second effect. */
export interface SeenMessages {
  get(id: string): GivenAnswer | undefined | Promise<GivenAnswer | undefined>;
  set(id: string, answer: GivenAnswer): void | Promise<void>;
}

/** Options of {@link createPublisher}. */
export interface PublisherOptions {
  /** The app's provision secret; while it is rotated, the new one and then the old one. */
  secret: string | readonly string[];
  /** Where the service is. */
  baseUrl: string;
  /** Default: the last 1,000 in memory, which suits one instance. */
  seen?: SeenMessages;
  on: {
    provision(request: ProvisionRequest): Provisioned | Promise<Provisioned>;
    /** Nothing: it is over. `accepted`: `report` tells when. */
    deprovision(
      notice: InstallNotice,
    ): void | undefined | { status: "accepted" } | Promise<void | undefined | { status: "accepted" }>;
    suspend?(notice: InstallNotice): void | Promise<void>;
    resume?(notice: InstallNotice): void | Promise<void>;
  };
  /** Default: `globalThis.fetch`. */
  fetch?: typeof globalThis.fetch;
}

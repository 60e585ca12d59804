import { auditLists } from "./audit.ts";
import { loginsAgainstBetterAuth, meAgainstBetterAuth } from "./better-auth.ts";
import { scimAgainstBetterAuth } from "./better-auth-scim.ts";
import { billingRows } from "./billing.ts";
import { browse } from "./browse.ts";
import { clientRows } from "./clients.ts";
import { consoleRows } from "./console.ts";
import { crlReads } from "./crl.ts";
import { deliveriesAgainstLoop, deliveryLatency, deliveryRate } from "./deliveries.ts";
import { idleInstall, installRate, installRequest } from "./installs.ts";
import { magicLinks } from "./links.ts";
import { logins, meAmongLogins, meDuringLogins } from "./logins.ts";
import {
  meAgainstBare,
  meAgainstGrpcJs,
  meAgainstPlain,
  meAtHalf,
  meOverConnect,
  meOverGrpc,
  newTokens,
} from "./me.ts";
import { mutualTls } from "./mtls.ts";
import { oidcLogins } from "./oidc.ts";
import { peopleReads } from "./people.ts";
import { transcoding } from "./post.ts";
import { refreshes } from "./refresh.ts";
import { meDuringRevocations } from "./revocations.ts";
import type { Row } from "./row.ts";
import { scimCursors, scimReads } from "./scim.ts";
import { scimWrites } from "./scim-writes.ts";
import { secondFactor } from "./second-factor.ts";
import { spiffeRows } from "./spiffe.ts";
import { freshStart, idleMemory, laterStart } from "./start.ts";
import { timings } from "./timing.ts";
import { vaultRows } from "./vault.ts";
import { webhookRoutes } from "./webhooks.ts";

/** Every row, in the order of the table. */
export const rows: readonly Row[] = [
  meAgainstBare,
  meAgainstPlain,
  meAgainstBetterAuth,
  meAtHalf,
  meOverConnect,
  meOverGrpc,
  meAgainstGrpcJs,
  transcoding,
  newTokens,
  logins,
  loginsAgainstBetterAuth,
  meDuringLogins,
  meAmongLogins,
  secondFactor,
  refreshes,
  magicLinks,
  oidcLogins,
  meDuringRevocations,
  ...timings,
  deliveriesAgainstLoop,
  deliveryRate,
  deliveryLatency,
  idleInstall,
  installRate,
  installRequest,
  ...browse,
  ...peopleReads,
  ...scimReads,
  scimCursors,
  ...scimWrites,
  ...scimAgainstBetterAuth,
  ...auditLists,
  ...webhookRoutes,
  ...vaultRows,
  ...spiffeRows,
  crlReads,
  ...mutualTls,
  ...billingRows,
  freshStart,
  laterStart,
  idleMemory,
  ...clientRows,
  ...consoleRows,
];

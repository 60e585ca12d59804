/** Help for one command, and for all of them. */
export const HELP = {
  all: `Atrium: identity, access, marketplace and billing for multi-tenant SaaS

Usage: npm start [-- ROLE]       or: node src/main.ts [ROLE]

  all       everything in one process (default)
  serve     the API: REST, Connect, gRPC and gRPC-Web on one port
  worker    background work: outbox and Temporal workflows
  migrate   bring the database up to date, then exit
  status    what is stuck in a running service, and why: outbox, deliveries,
            installs, database, Temporal; exits 1 when something is stuck
  rewrap    after a change of SERVICE_INSTANCE_KEY or SERVICE_MASTER_KEY: move
            everything that the previous key sealed to the present one, while
            the service runs; exits 0 when nothing is left, else 1
  reset-password EMAIL
            print a link with which that person sets a new password, once;
            for a lost first password, or a person without a mailbox
  verify-audit FILE --jwks FILE|URL
            verify an exported audit log (NDJSON or JSON) without the service;
            exits 0 when it is valid, 1 when it is not, 2 when it cannot be
            verified
  vault split|seal|unseal|status
            shares of the master key, and the seal of a running service's
            vault; see: vault --help
  workload-agent
            the SPIFFE Workload API on a Unix socket, for workloads on this
            machine; see: workload-agent --help

  --fake-payments
            a payment server of its own in place of Stripe and Paddle, with a
            checkout page; for development only

  --help, --version

Settings are environment variables; docs/configuration.md lists them. Without
any, the development profile runs its own PostgreSQL and Temporal in .atrium.
`,
  rewrap: `Usage: npm start -- rewrap

Moves everything that a previous key sealed to the present keys, while the
service runs. It can be stopped at any time; another run continues.

  SERVICE_INSTANCE_KEY, SERVICE_INSTANCE_KEY_PREVIOUS
            for TOTP secrets, signing keys, webhook secrets, stored responses
            and all else that the instance key seals
  SERVICE_MASTER_KEY, SERVICE_MASTER_KEY_PREVIOUS
            for the vault
  DATABASE_URL
            the database of the service; unset in development

Set the variables as for the service. Exits 0 when nothing that a previous key
sealed is left, else 1. docs/keys.md describes the whole rotation.
`,
  vault: `Usage: npm start -- vault split
       npm start -- vault seal|unseal|status --url URL --token-file FILE

  split     read the master key from SERVICE_MASTER_KEY, or from the file that
            SERVICE_MASTER_KEY_FILE names, and print 5 shares of it, one a
            line; any 3 of them unseal the vault
  seal      seal the vault on every instance, until it is unsealed
  unseal    read the master key, or one share of it, from standard input, and
            enter it; a terminal does not show what is typed
  status    print the state of the seal; exits 0 when the vault is unsealed,
            1 when it is sealed

  --url URL          where the service is, such as https://atrium.example
  --token-file FILE  a file with the access token of an operator

Every command exits 2 on an error. To trust a private certificate authority,
set NODE_EXTRA_CA_CERTS to its file.
`,
  "workload-agent": `Usage: npm start -- workload-agent --server URL --ca-file FILE --socket PATH
         --token-file FILE

Serves the SPIFFE Workload API (gRPC) on a Unix socket: X.509-SVIDs, JWT-SVIDs
and trust bundles of one service identity, as streams that follow every change.
Workloads find it by SPIFFE_ENDPOINT_SOCKET=unix://PATH.

  --server URL       the service's listener of mutual TLS (SERVICE_MTLS_PORT),
                     such as https://atrium.example:8443
  --ca-file FILE     what the service's certificate is verified by, PEM
  --socket PATH      the Unix socket; its owner and its group may connect
  --token-file FILE  a file with an automation token of the service identity;
                     needed at the start, and when an SVID was revoked

The SVID is renewed at half of its lifetime, by mutual TLS with itself. Stop the
agent with SIGTERM. Exits 2 when it cannot start.
`,
};

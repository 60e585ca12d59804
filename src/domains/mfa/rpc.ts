import { timestampFromDate } from "@bufbuild/protobuf/wkt";
import type { ServiceImpl } from "@connectrpc/connect";
import { MfaService } from "../../../gen/atrium/mfa/v1/mfa_pb.ts";
import type { RequestContext, RequestContexts } from "../../platform/context.ts";
import { registration } from "../../platform/rpc.ts";
import type { ServiceRegistration } from "../../platform/rpc.ts";
import type { OpenedPair } from "../sessions/index.ts";
import type { SecondStep } from "./challenge.ts";
import type { Mfa } from "./mfa.ts";
import type { FactorRow, RecoveryCodeRow } from "./store.ts";

/** Verifies the second factor of a pending sign-in and opens its session; `login` does. */
export type CompleteSignIn = (context: RequestContext, step: SecondStep) => Promise<OpenedPair>;

/** `atrium.mfa.v1.MfaService`. */
export function mfaRpc(mfa: Mfa, contexts: RequestContexts, completeSignIn: CompleteSignIn): ServiceRegistration {
  const { factors, recoveryCodes, resetFactors, demandProof, demandToEnrol } = mfa;
  return registration(
    MfaService,
    {
      listFactors: async (_request, context) => ({
        data: (await factors.list(contexts.authenticated(context))).map(printFactor),
      }),
      createFactor: async ({ label }, context) => {
        const { createdAt, label: name, ...shown } = await factors.create(contexts.authenticated(context), label);
        return {
          data: {
            ...shown,
            factorType: "totp",
            status: "pending",
            createdAt: timestampFromDate(createdAt),
            ...labelOf(name),
          },
        };
      },
      verifyFactor: async ({ id, code }, context) => {
        const { activatedAt } = await factors.verify(contexts.authenticated(context), id, code);
        return { data: { id, factorType: "totp", status: "active", activatedAt: timestampFromDate(activatedAt) } };
      },
      deleteFactor: async ({ id }, context) => {
        await factors.remove(contexts.authenticated(context), id);
        return {};
      },
      listRecoveryCodes: async (_request, context) => ({
        data: (await recoveryCodes.list(contexts.authenticated(context))).map(printRecoveryCode),
      }),
      regenerateRecoveryCodes: async (_request, context) => ({
        data: { codes: await recoveryCodes.regenerate(contexts.authenticated(context)) },
      }),
      getMfaStatus: async (_request, context) => factors.status(contexts.authenticated(context)),
      challengeTotp: async (request, context) => completeSignIn(contexts.public(context), request),
      deleteMemberFactors: async ({ userUuid }, context) => {
        await resetFactors(contexts.authenticated(context), userUuid.toLowerCase());
        return {};
      },
    } satisfies ServiceImpl<typeof MfaService>,
    {
      createFactor: demandToEnrol,
      verifyFactor: demandToEnrol,
      deleteFactor: demandProof,
      regenerateRecoveryCodes: demandProof,
    },
  );
}

function printFactor({ id, factorType, status, label }: FactorRow) {
  return { id, factorType, status, ...labelOf(label) };
}

function printRecoveryCode({ id, createdAt, usedAt }: RecoveryCodeRow) {
  return {
    id,
    createdAt: timestampFromDate(createdAt),
    ...(usedAt === null ? {} : { usedAt: timestampFromDate(usedAt) }),
  };
}

function labelOf(label: string | null): { label?: string } {
  return label === null ? {} : { label };
}

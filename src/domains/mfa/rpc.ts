import { timestampFromDate } from "@bufbuild/protobuf/wkt";
import { MfaService } from "../../../gen/atrium/mfa/v1/mfa_pb.ts";
import { StepUpService } from "../../../gen/atrium/step_up/v1/step_up_pb.ts";
import { caller, requestInfo } from "../../platform/caller.ts";
import { registration } from "../../platform/rpc.ts";
import type { ServiceRegistration } from "../../platform/rpc.ts";
import type { Mfa } from "./index.ts";
import type { StepUpMethod } from "./step-up-store.ts";

/** Second factors over the wire. */
export function mfaRpc({
  factors,
  recoveryCodes,
  challenge,
  resetFactors,
  demandProof,
  demandToEnrol,
}: Mfa): ServiceRegistration {
  return registration(
    MfaService,
    {
      listFactors: async (_request, context) => {
        const rows = await factors.list(caller(context));
        return {
          data: rows.map((row) => ({
            id: row.id,
            factorType: row.factor_type,
            status: row.status,
            ...labelOf(row.label),
          })),
        };
      },
      createFactor: async ({ label }, context) => {
        const made = await factors.create(caller(context), label);
        const { createdAt, label: name, ...shown } = made;
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
        const { activatedAt } = await factors.verify(caller(context), id, code, requestInfo(context));
        return { data: { id, factorType: "totp", status: "active", activatedAt: timestampFromDate(activatedAt) } };
      },
      deleteFactor: async ({ id }, context) => {
        await factors.remove(caller(context), id, requestInfo(context));
        return {};
      },
      listRecoveryCodes: async (_request, context) => {
        const rows = await recoveryCodes.list(caller(context));
        return {
          data: rows.map((row) => ({
            id: row.id,
            createdAt: timestampFromDate(row.created_at),
            ...(row.used_at === null ? {} : { usedAt: timestampFromDate(row.used_at) }),
          })),
        };
      },
      regenerateRecoveryCodes: async (_request, context) => ({
        data: { codes: await recoveryCodes.regenerate(caller(context), requestInfo(context)) },
      }),
      getMfaStatus: async (_request, context) => factors.status(caller(context)),
      challengeTotp: async (request, context) => challenge(request, requestInfo(context)),
      deleteMemberFactors: async ({ userUuid }, context) => {
        await resetFactors(caller(context), userUuid.toLowerCase(), requestInfo(context));
        return {};
      },
    },
    {
      createFactor: demandToEnrol,
      verifyFactor: demandToEnrol,
      deleteFactor: demandProof,
      regenerateRecoveryCodes: demandProof,
    },
  );
}

/** Step-up over the wire. */
export function stepUpRpc({ stepUp }: Mfa): ServiceRegistration {
  return registration(StepUpService, {
    createChallenge: async ({ method }, context) => {
      // The rules of the contract admit these three alone.
      const issued = await stepUp.challenge(caller(context), method as StepUpMethod, requestInfo(context));
      return { ...issued, expiresAt: timestampFromDate(issued.expiresAt) };
    },
    verifyChallenge: async (request, context) => stepUp.verify(caller(context), request, requestInfo(context)),
    getStepUpStatus: async (_request, context) => {
      const { elevated, expiresAt } = stepUp.status(caller(context));
      return { elevated, ...(expiresAt === undefined ? {} : { expiresAt: timestampFromDate(expiresAt) }) };
    },
  });
}

function labelOf(label: string | null): { label?: string } {
  return label === null ? {} : { label };
}

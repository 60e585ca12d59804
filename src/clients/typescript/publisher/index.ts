export { createPublisher } from "./publisher.ts";
export type { Publisher } from "./publisher.ts";
export type {
  CloudTarget,
  GivenAnswer,
  InstallNotice,
  InstallReport,
  Provisioned,
  ProvisionRequest,
  PublisherOptions,
  SeenMessages,
} from "./types.ts";

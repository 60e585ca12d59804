/*
 * The proof of an exported audit log, for the program and for browsers: WebCrypto alone, and nothing imported.
 */
export { GENESIS, eventText, headText, linkText } from "./chain.ts";
export type { ExportedEvent, ExportedGap, ExportSummary, HeadFacts, LinkFacts, PrintedEvent } from "./chain.ts";
export type { ProofResult } from "./proof.ts";
export { verifyExport } from "./verify-export.ts";

/** What the verifier uses of jose; `npm run pack:clients` puts the code itself here. */
export { compactVerify, decodeJwt, decodeProtectedHeader, importJWK } from "jose";
export type { CryptoKey, JWK } from "jose";

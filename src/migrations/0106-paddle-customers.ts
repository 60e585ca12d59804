import { defineMigration } from "../platform/db/migrator.ts";

/**
 * Forgets the customers of Paddle that payments named: whoever types an email pays as its customer, so that it may be
 * anybody's. An organization's own one is made for its next checkout.
 */
export const paddleCustomers = defineMigration("0106-paddle-customers", [
  "delete from billing_customers where provider = 'paddle'",
]);

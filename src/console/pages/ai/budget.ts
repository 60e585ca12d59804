const MOST = 1_000_000_000;

/** What is wrong with a budget in US dollars, as it is typed: at most two decimals, and no more than the contract's. */
export function faultOfBudget(text: string): string | undefined {
  if (text.trim() === "") return "This is required.";
  if (!/^\d+(?:\.\d{1,2})?$/u.test(text.trim())) return "Enter an amount with at most two decimals, such as 250.50.";
  return Number(text) > MOST ? `The most is ${MOST.toLocaleString("en")}.` : undefined;
}

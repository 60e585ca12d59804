// Package atrium is the client of Atrium: calls with credentials and retries, lists to their end, verification of
// tokens and webhooks, and the server side of apps.
package atrium

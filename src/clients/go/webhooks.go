package atrium

import (
	"encoding/json"
	"errors"
	"net/http"
	"time"

	standardwebhooks "github.com/standard-webhooks/standard-webhooks/libraries/go"
)

// ErrWebhookRefused is why a request is not an event of the service: respond with 401.
var ErrWebhookRefused = errors.New("atrium: the signature is missing, wrong or too old")

// WebhookEvent is what a webhook receives. Types that a later service sends are passed on as they are.
type WebhookEvent struct {
	Type string `json:"type"`
	// Timestamp is when it happened.
	Timestamp time.Time `json:"timestamp"`
	// ID is the same in every attempt: what is received twice has the id of the first.
	ID      string          `json:"id"`
	OrgUUID string          `json:"org_uuid"`
	Data    json.RawMessage `json:"data"`
}

// VerifyWebhook returns the event of a signed delivery (Standard Webhooks, at most 300 seconds off), or an error that
// is ErrWebhookRefused. While a secret is rotated, pass the old one too. The body is as it came.
func VerifyWebhook(secrets []string, body []byte, headers http.Header) (*WebhookEvent, error) {
	if _, err := verifyDelivery(secrets, body, headers); err != nil {
		return nil, err
	}
	event := new(WebhookEvent)
	if err := json.Unmarshal(body, event); err != nil {
		return nil, errors.Join(ErrWebhookRefused, err)
	}
	return event, nil
}

// verifyDelivery returns the id of a signed message.
func verifyDelivery(secrets []string, body []byte, headers http.Header) (string, error) {
	reason := errors.New("no secret was given")
	for _, secret := range secrets {
		webhook, err := standardwebhooks.NewWebhook(secret)
		if err == nil {
			err = webhook.Verify(body, headers)
		}
		if err == nil {
			return headers.Get(standardwebhooks.HeaderWebhookID), nil
		}
		reason = err
	}
	return "", errors.Join(ErrWebhookRefused, reason)
}

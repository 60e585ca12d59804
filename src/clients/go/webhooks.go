package atrium

import (
	"encoding/base64"
	"encoding/json"
	"errors"
	"net/http"
	"strings"
	"time"

	standardwebhooks "github.com/standard-webhooks/standard-webhooks/libraries/go"
)

// ErrWebhookRefused is why a request is not an event of the service: respond with 401.
var ErrWebhookRefused = errors.New("atrium: the signature is missing, wrong or too old")

// ErrWebhookSecret is why nothing can be verified: no secret was given, or one that is empty, with which anybody could
// sign, or not base64.
var ErrWebhookSecret = errors.New("atrium: a webhook secret is missing, empty or not base64")

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
// is ErrWebhookRefused, or ErrWebhookSecret. While a secret is rotated, pass the old one too. The body is as it came.
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
	webhooks, err := webhooksOf(secrets)
	if err != nil {
		return "", err
	}
	var reason error
	for _, webhook := range webhooks {
		if reason = webhook.Verify(body, headers); reason == nil {
			return headers.Get(standardwebhooks.HeaderWebhookID), nil
		}
	}
	return "", errors.Join(ErrWebhookRefused, reason)
}

// webhooksOf returns ErrWebhookSecret for what the library takes as a key without a byte.
func webhooksOf(secrets []string) ([]*standardwebhooks.Webhook, error) {
	webhooks := make([]*standardwebhooks.Webhook, 0, len(secrets))
	for _, secret := range secrets {
		key, err := base64.StdEncoding.DecodeString(strings.TrimPrefix(secret, "whsec_"))
		if err != nil || len(key) == 0 {
			return nil, errors.Join(ErrWebhookSecret, err)
		}
		webhook, err := standardwebhooks.NewWebhookRaw(key)
		if err != nil {
			return nil, errors.Join(ErrWebhookSecret, err)
		}
		webhooks = append(webhooks, webhook)
	}
	if len(webhooks) == 0 {
		return nil, ErrWebhookSecret
	}
	return webhooks, nil
}

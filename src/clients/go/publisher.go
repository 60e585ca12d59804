package atrium

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync"
)

const (
	seenMessages   = 1_000
	maxMessageSize = 1 << 20
)

// ProvisionRequest is what the service asks when an organization installs an app.
type ProvisionRequest struct {
	InstallID string `json:"install_id"`
	AppID     string `json:"app_id"`
	Slug      string `json:"slug"`
	Org       struct {
		OrgUUID string `json:"org_uuid"`
		Name    string `json:"name"`
	} `json:"org"`
	InstalledBy    *string `json:"installed_by"`
	PlanID         string  `json:"plan_id"`
	Quantity       int     `json:"quantity"`
	DeploymentMode string  `json:"deployment_mode"`
	PaymentSource  string  `json:"payment_source"`
	Sandbox        bool    `json:"sandbox"`
	// CallbackURL is where Report posts to.
	CallbackURL string `json:"callback_url"`
	// ExpiresAt is when the service gives up, RFC 3339.
	ExpiresAt string `json:"expires_at"`
}

// InstallNotice is what the service says when an install ends, is suspended or goes on.
type InstallNotice struct {
	InstallID string `json:"install_id"`
	AppID     string `json:"app_id"`
}

// CloudTarget is where an install runs.
type CloudTarget struct {
	Provider string `json:"provider"`
	Region   string `json:"region"`
}

// Active tells that an install is ready.
type Active struct {
	EndpointURL string       `json:"endpoint_url,omitempty"`
	Message     string       `json:"message,omitempty"`
	CloudTarget *CloudTarget `json:"cloud_target,omitempty"`
}

// ErrAccepted is returned by a handler that works on: Report tells the outcome.
var ErrAccepted = errors.New("atrium: accepted")

// Refused is returned by a handler that will not provision an install.
type Refused struct{ Message string }

func (r *Refused) Error() string { return r.Message }

// Answer is a response that was given to a message.
type Answer struct {
	Status int
	Body   []byte
}

// SeenMessages remembers responses by the id of the message, so that one that comes again has no second effect.
type SeenMessages interface {
	Get(ctx context.Context, id string) (Answer, bool, error)
	Set(ctx context.Context, id string, answer Answer) error
}

// PublisherOptions are how an app handles its installs.
type PublisherOptions struct {
	// Secrets is the app's provision secret; while it is rotated, the new one and then the old one.
	Secrets []string
	// BaseURL is where the service is.
	BaseURL string
	// Seen defaults to the last 1,000 in memory, which suits one instance.
	Seen SeenMessages
	// Provision returns Active, ErrAccepted or *Refused; after other errors the service sends the message again. The
	// contexts of handlers do not end with the request.
	Provision func(context.Context, ProvisionRequest) (*Active, error)
	// Deprovision returns nil when it is over, or ErrAccepted.
	Deprovision func(context.Context, InstallNotice) error
	// Suspend and Resume may be nil.
	Suspend func(context.Context, InstallNotice) error
	Resume  func(context.Context, InstallNotice) error
	// HTTPClient posts reports; default: one that follows no redirects.
	HTTPClient *http.Client
}

// Publisher is the server of an app: a handler for its provision_webhook, and reports on its installs.
type Publisher struct {
	options PublisherOptions
	locks   *lru[string, *sync.Mutex]
}

// NewPublisher returns the server of an app, or ErrWebhookSecret.
func NewPublisher(options PublisherOptions) (*Publisher, error) {
	if _, err := webhooksOf(options.Secrets); err != nil {
		return nil, err
	}
	if options.Seen == nil {
		options.Seen = memory{newLRU[string, Answer](seenMessages)}
	}
	if options.HTTPClient == nil {
		options.HTTPClient = &http.Client{CheckRedirect: noRedirects}
	}
	options.BaseURL = strings.TrimRight(options.BaseURL, "/")
	return &Publisher{options, newLRU[string, *sync.Mutex](seenMessages)}, nil
}

// ServeHTTP verifies a message and calls its handler, once for each message.
func (p *Publisher) ServeHTTP(w http.ResponseWriter, request *http.Request) {
	body, err := io.ReadAll(http.MaxBytesReader(w, request.Body, maxMessageSize))
	if err != nil {
		w.WriteHeader(http.StatusBadRequest)
		return
	}
	id, err := verifyDelivery(p.options.Secrets, body, request.Header)
	if err != nil {
		w.WriteHeader(http.StatusUnauthorized)
		return
	}
	// The service gives up sooner than some handlers end; what they did must be remembered for its next attempt.
	answer, err := p.handle(context.WithoutCancel(request.Context()), id, body)
	if err != nil {
		w.WriteHeader(http.StatusInternalServerError)
		return
	}
	w.Header().Set("content-type", "application/json")
	w.WriteHeader(answer.Status)
	_, _ = w.Write(answer.Body)
}

func (p *Publisher) handle(ctx context.Context, id string, body []byte) (Answer, error) {
	// A message that comes again while it is handled waits for the same answer.
	lock := p.locks.getOrSet(id, func() *sync.Mutex { return &sync.Mutex{} })
	lock.Lock()
	defer lock.Unlock()
	if given, ok, err := p.options.Seen.Get(ctx, id); ok || err != nil {
		return given, err
	}
	var message struct {
		Type string
		Data json.RawMessage
	}
	if err := json.Unmarshal(body, &message); err != nil {
		return Answer{}, err
	}
	answer, err := p.answer(ctx, message.Type, message.Data)
	if err != nil {
		return Answer{}, err
	}
	return answer, p.options.Seen.Set(ctx, id, answer)
}

func (p *Publisher) answer(ctx context.Context, kind string, data []byte) (Answer, error) {
	if kind == "install.provisioning" {
		var asked ProvisionRequest
		if err := json.Unmarshal(data, &asked); err != nil {
			return Answer{}, err
		}
		active, err := p.options.Provision(ctx, asked)
		return answerOf(active, err)
	}
	handler := map[string]func(context.Context, InstallNotice) error{
		"install.deprovisioning": p.options.Deprovision,
		"install.suspended":      p.options.Suspend,
		"install.resumed":        p.options.Resume,
	}[kind]
	if handler == nil {
		// A later service may send more types; they need no action.
		return Answer{Status: http.StatusOK}, nil
	}
	var notice InstallNotice
	if err := json.Unmarshal(data, &notice); err != nil {
		return Answer{}, err
	}
	return answerOf(nil, handler(ctx, notice))
}

func answerOf(active *Active, err error) (Answer, error) {
	var refused *Refused
	switch {
	case errors.Is(err, ErrAccepted):
		return Answer{Status: http.StatusAccepted}, nil
	case errors.As(err, &refused):
		body, err := json.Marshal(map[string]string{"message": refused.Message})
		return Answer{http.StatusUnprocessableEntity, body}, err
	case err != nil:
		return Answer{}, fmt.Errorf("atrium: the handler failed: %w", err)
	case active == nil:
		return Answer{Status: http.StatusOK}, nil
	default:
		body, err := json.Marshal(active)
		return Answer{http.StatusOK, body}, err
	}
}

type memory struct{ answers *lru[string, Answer] }

func (m memory) Get(_ context.Context, id string) (Answer, bool, error) {
	answer, ok := m.answers.get(id)
	return answer, ok, nil
}

func (m memory) Set(_ context.Context, id string, answer Answer) error {
	m.answers.set(id, answer)
	return nil
}

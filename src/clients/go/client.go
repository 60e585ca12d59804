package atrium

import (
	"context"
	"net/http"
	"strings"
	"time"

	"atrium.example/atrium/gen/go/services"
	"connectrpc.com/connect"
)

const (
	defaultTimeout = 10 * time.Second
	defaultRetries = 2
)

// Client has a client of every service, by the name of its area: client.Users.ListUsers(ctx, request). It may be used
// by many goroutines at once.
type Client struct {
	*services.Services
}

// Credential returns the token to send with a call; an empty one sends none.
type Credential func(ctx context.Context) (string, error)

// Bearer presents an access token.
func Bearer(token string) Credential {
	return func(context.Context) (string, error) { return token, nil }
}

// APIKey presents an API key, an automation token or a SCIM token.
func APIKey(secret string) Credential { return Bearer(secret) }

type options struct {
	credential Credential
	httpClient connect.HTTPClient
	timeout    time.Duration
	retries    int
	connect    []connect.ClientOption
}

// Option changes how calls are made.
type Option func(*options)

// WithCredential sets what calls are authenticated with. Without one only public calls succeed.
func WithCredential(credential Credential) Option {
	return func(o *options) { o.credential = credential }
}

// WithTimeout sets how long a unary call may take with all its attempts, unless its context ends before; default 10 s,
// 0: no limit. Streams have no end of their own.
func WithTimeout(timeout time.Duration) Option { return func(o *options) { o.timeout = timeout } }

// WithRetries sets the attempts after the first, where the contract makes them harmless; default 2.
func WithRetries(retries int) Option { return func(o *options) { o.retries = retries } }

// WithHTTPClient sets the connection, for certificates, proxies and limits of your own.
func WithHTTPClient(client connect.HTTPClient) Option {
	return func(o *options) { o.httpClient = client }
}

// WithClientOptions passes options on, such as connect.WithGRPC() or interceptors of your own.
func WithClientOptions(more ...connect.ClientOption) Option {
	return func(o *options) { o.connect = append(o.connect, more...) }
}

// New returns a client of the service at baseURL, such as https://atrium.example.
func New(baseURL string, more ...Option) *Client {
	o := options{timeout: defaultTimeout, retries: defaultRetries, httpClient: &http.Client{CheckRedirect: noRedirects}}
	for _, option := range more {
		option(&o)
	}
	all := append([]connect.ClientOption{connect.WithInterceptors(&caller{o})}, o.connect...)
	return &Client{services.New(headerKeeper{o.httpClient}, strings.TrimRight(baseURL, "/"), all...)}
}

// noRedirects keeps credentials and requests for keys with the service.
func noRedirects(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }

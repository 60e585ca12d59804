package atrium

import (
	"context"
	"errors"
	"io"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"time"
	"unicode"

	optionsv1 "atrium.example/atrium/gen/go/atrium/options/v1"
	"atrium.example/atrium/gen/go/errorcodes"
	"connectrpc.com/connect"
	"github.com/google/uuid"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"
)

var errUnsendable = errors.New("atrium: the token has characters that no header can carry")

// policy is what the contract says of an rpc, as far as a client must know it.
type policy struct {
	// authenticated: the credential is sent.
	authenticated bool
	// safe: it changes nothing, so that it may be sent again.
	safe bool
	// idempotent: it takes an Idempotency-Key; sent again with the same key, it takes effect once.
	idempotent bool
}

var policies sync.Map

// policyOf reads the options of an rpc, once.
func policyOf(spec connect.Spec) policy {
	if known, ok := policies.Load(spec.Procedure); ok {
		return known.(policy)
	}
	found := policy{safe: spec.IdempotencyLevel == connect.IdempotencyNoSideEffects}
	if method, ok := spec.Schema.(protoreflect.MethodDescriptor); ok {
		access, _ := proto.GetExtension(method.Options(), optionsv1.E_Access).(*optionsv1.Access)
		credential := access.GetCredential()
		found.authenticated = access.GetBearerOptional() ||
			credential == optionsv1.Credential_CREDENTIAL_BEARER || credential == optionsv1.Credential_CREDENTIAL_SCIM
		found.idempotent = access.GetIdempotent()
	}
	policies.Store(spec.Procedure, found)
	return found
}

// caller adds the credential to calls, and repeats what may be repeated.
type caller struct {
	options options
}

func (c *caller) prepare(ctx context.Context, spec connect.Spec, headers http.Header) (policy, error) {
	found := policyOf(spec)
	if found.authenticated && c.options.credential != nil && headers.Get("authorization") == "" {
		token, err := c.options.credential(ctx)
		if err != nil {
			return found, err
		}
		// White space around a token, such as the end of a file's line, is left out.
		token = strings.TrimSpace(token)
		if strings.ContainsFunc(token, unicode.IsControl) {
			return found, errUnsendable
		}
		if token != "" {
			headers.Set("authorization", "Bearer "+token)
		}
	}
	if found.idempotent && headers.Get("idempotency-key") == "" {
		headers.Set("idempotency-key", uuid.NewString())
	}
	return found, nil
}

// WrapUnary implements connect.Interceptor.
func (c *caller) WrapUnary(next connect.UnaryFunc) connect.UnaryFunc {
	return func(ctx context.Context, request connect.AnyRequest) (connect.AnyResponse, error) {
		if c.options.timeout > 0 {
			// Of this and the deadline of the context the earlier one counts.
			bounded, cancel := context.WithTimeout(ctx, c.options.timeout)
			defer cancel()
			ctx = bounded
		}
		found, err := c.prepare(ctx, request.Spec(), request.Header())
		if err != nil {
			return nil, err
		}
		authenticated := request.Header().Get("authorization") != ""
		for lost := 0; ; lost++ {
			var received atomic.Pointer[http.Header]
			response, err := next(context.WithValue(ctx, headerKey{}, &received), request)
			if err == nil {
				return response, nil
			}
			failure := errorOf(lostOf(ctx, err), time.Now())
			if headers := received.Load(); headers != nil {
				failure.readHeaders(*headers, time.Now())
			}
			if lost >= c.options.retries || !found.mayRepeat(authenticated, failure, lost) {
				return nil, failure
			}
			wait, ok := waitBefore(lost, failure, longestAskedWait, longestWait)
			ends, bounded := ctx.Deadline()
			late := bounded && !time.Now().Add(wait).Before(ends)
			if !ok || late {
				return nil, failure
			}
			if err := sleep(ctx, wait); err != nil {
				return nil, errorOf(connect.NewError(connect.CodeCanceled, err), time.Now())
			}
		}
	}
}

// headerKey is the key of the context value in which a call keeps the headers of its response.
type headerKey struct{}

// headerKeeper keeps the headers of responses for their calls: the library makes errors without headers of responses
// that are not Connect's, such as a proxy's with Retry-After.
type headerKeeper struct {
	connect.HTTPClient
}

// Do implements connect.HTTPClient.
func (h headerKeeper) Do(request *http.Request) (*http.Response, error) {
	response, err := h.HTTPClient.Do(request)
	if received, ok := request.Context().Value(headerKey{}).(*atomic.Pointer[http.Header]); ok && err == nil {
		received.Store(&response.Header)
	}
	return response, err
}

func (p policy) mayRepeat(authenticated bool, failure *Error, lost int) bool {
	if !p.safe && !(p.idempotent && authenticated) {
		return false
	}
	// The first attempt may still be running, its answer lost: the service then returns 409 for its key.
	running := lost > 0 && p.idempotent && failure.Status == http.StatusConflict &&
		failure.ErrorCode == errorcodes.Conflict
	return running || failure.transient()
}

// WrapStreamingClient implements connect.Interceptor. Streams are authenticated, and not repeated.
func (c *caller) WrapStreamingClient(next connect.StreamingClientFunc) connect.StreamingClientFunc {
	return func(ctx context.Context, spec connect.Spec) connect.StreamingClientConn {
		conn := next(ctx, spec)
		_, err := c.prepare(ctx, spec, conn.RequestHeader())
		return &stream{conn, ctx, err}
	}
}

// WrapStreamingHandler implements connect.Interceptor; clients have no handlers.
func (c *caller) WrapStreamingHandler(next connect.StreamingHandlerFunc) connect.StreamingHandlerFunc {
	return next
}

// stream makes an *Error of what ends it.
type stream struct {
	connect.StreamingClientConn
	ctx    context.Context
	failed error
}

func (s *stream) Send(message any) error {
	if s.failed != nil {
		return s.failed
	}
	return s.errorOf(s.StreamingClientConn.Send(message))
}

func (s *stream) Receive(message any) error {
	return s.errorOf(s.StreamingClientConn.Receive(message))
}

func (s *stream) errorOf(err error) error {
	if err == nil || errors.Is(err, io.EOF) {
		return err
	}
	return errorOf(lostOf(s.ctx, err), time.Now())
}

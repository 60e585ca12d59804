package atrium

import (
	"context"
	"errors"
	"io"
	"net/http"
	"strconv"
	"strings"
	"time"

	"atrium.example/atrium/gen/go/errorcodes"
	"connectrpc.com/connect"
	"google.golang.org/genproto/googleapis/rpc/errdetails"
)

// Violation is one field of a request that broke a rule of the contract.
type Violation struct {
	Field string
	// Code is the rule: required, max_len, …
	Code    string
	Message string
}

// Error is every failure of a call: a *connect.Error, which it wraps, with what the service says besides the code of
// the protocol.
type Error struct {
	cause *connect.Error
	// ErrorCode is the code of the service, such as errorcodes.StepUpRequired; errorcodes.Unavailable when the service
	// was not reached.
	ErrorCode errorcodes.Code
	// Status is the HTTP status of the error over REST; 0 when the service sent no error.
	Status int
	// RequestID is the id under which the service logged the call.
	RequestID string
	// RetryAfter is how long the service asked to wait; HasRetryAfter tells zero from nothing.
	RetryAfter    time.Duration
	HasRetryAfter bool
	// Violations are the fields that broke a rule; none unless the request was not valid.
	Violations []Violation
}

func (e *Error) Error() string { return e.cause.Error() }

// Unwrap returns the *connect.Error.
func (e *Error) Unwrap() error { return e.cause }

// Code is the code of the protocol.
func (e *Error) Code() connect.Code { return e.cause.Code() }

// Message is what the service says to people.
func (e *Error) Message() string { return e.cause.Message() }

// CodeOf returns the service's code of an error of a call, and nothing for other errors.
func CodeOf(err error) errorcodes.Code {
	var failure *Error
	if errors.As(err, &failure) {
		return failure.ErrorCode
	}
	return ""
}

// byConnectCode names an error that the service did not name: the call did not reach it, or not in time.
var byConnectCode = map[connect.Code]errorcodes.Code{
	connect.CodeCanceled:          errorcodes.Canceled,
	connect.CodeDeadlineExceeded:  errorcodes.DeadlineExceeded,
	connect.CodeUnauthenticated:   errorcodes.Unauthorized,
	connect.CodePermissionDenied:  errorcodes.Forbidden,
	connect.CodeNotFound:          errorcodes.NotFound,
	connect.CodeUnimplemented:     errorcodes.Unimplemented,
	connect.CodeUnavailable:       errorcodes.Unavailable,
	connect.CodeResourceExhausted: errorcodes.RateLimited,
}

// lostOf names the error of a call whose connection broke. The library takes one that was reset for a cancellation by
// the caller, and one that ended within an answer for a fault of the answer.
func lostOf(ctx context.Context, err error) error {
	var inner *connect.Error
	if ctx.Err() != nil || !errors.As(err, &inner) || connect.IsWireError(err) {
		return err
	}
	if inner.Code() == connect.CodeCanceled || errors.Is(err, io.ErrUnexpectedEOF) {
		return connect.NewError(connect.CodeUnavailable, inner.Unwrap())
	}
	return err
}

// errorOf returns an *Error as it is, and makes one of any other error.
func errorOf(err error, now time.Time) *Error {
	var known *Error
	if errors.As(err, &known) {
		return known
	}
	var inner *connect.Error
	if !errors.As(err, &inner) {
		inner = connect.NewError(connect.CodeOf(err), err)
	}
	failure := &Error{cause: inner, ErrorCode: byConnectCode[inner.Code()]}
	if failure.ErrorCode == "" {
		failure.ErrorCode = errorcodes.Internal
	}
	for _, detail := range inner.Details() {
		value, err := detail.Value()
		if err != nil {
			continue
		}
		switch value := value.(type) {
		case *errdetails.ErrorInfo:
			failure.ErrorCode = errorcodes.Code(strings.ToLower(value.Reason))
			failure.Status, _ = strconv.Atoi(value.Metadata["http_status"])
		case *errdetails.BadRequest:
			for _, entry := range value.FieldViolations {
				violation := Violation{entry.Field, strings.ToLower(entry.Reason), entry.Description}
				failure.Violations = append(failure.Violations, violation)
			}
		}
	}
	failure.readHeaders(inner.Meta(), now)
	return failure
}

// readHeaders sets what the headers contain, and leaves the rest.
func (e *Error) readHeaders(headers http.Header, now time.Time) {
	if id := headers.Get("x-request-id"); id != "" {
		e.RequestID = id
	}
	if wait, ok := retryAfterOf(headers.Get("retry-after"), now); ok {
		e.RetryAfter, e.HasRetryAfter = wait, true
	}
}

// transient tells whether the same request may succeed a moment later: it did not arrive, or the service was busy or
// away.
func (e *Error) transient() bool {
	switch e.Code() {
	case connect.CodeUnavailable, connect.CodeAborted:
		// A conflict of versions stays one until the caller reads the new version.
		return e.ErrorCode != errorcodes.VersionConflict && e.Status != http.StatusBadGateway
	case connect.CodeResourceExhausted:
		return e.Status == http.StatusTooManyRequests || e.Status == 0
	case connect.CodeDeadlineExceeded:
		return e.Status == http.StatusGatewayTimeout
	case connect.CodeUnknown, connect.CodeInternal, connect.CodeInvalidArgument:
		// Broken connections and truncated bodies; the service's own errors have a status.
		return e.Status == 0
	default:
		return false
	}
}

package atrium

import (
	"encoding/json"
	"net/http"

	"atrium.example/atrium/gen/go/errorcodes"
)

// TokenRefusal is a token that was not accepted, or not enough for what was asked.
type TokenRefusal struct {
	// ErrorCode is Unauthorized, Forbidden, StepUpRequired or Unavailable.
	ErrorCode errorcodes.Code
	Message   string
	cause     error
}

func (r *TokenRefusal) Error() string { return r.Message }

// Unwrap returns what led to the refusal, if anything.
func (r *TokenRefusal) Unwrap() error { return r.cause }

// Status is the HTTP status of the response: 401, 403 or 503.
func (r *TokenRefusal) Status() int {
	switch r.ErrorCode {
	case errorcodes.Unauthorized:
		return http.StatusUnauthorized
	case errorcodes.Unavailable:
		return http.StatusServiceUnavailable
	default:
		return http.StatusForbidden
	}
}

// ServeHTTP responds as the service itself does: with the challenges of RFC 6750 and RFC 9470, and an RFC 9457 problem.
func (r *TokenRefusal) ServeHTTP(w http.ResponseWriter, _ *http.Request) {
	headers := w.Header()
	headers.Set("content-type", "application/json")
	headers.Set("cache-control", "no-store")
	switch r.ErrorCode {
	case errorcodes.Unauthorized:
		headers.Set("www-authenticate", "Bearer")
	case errorcodes.StepUpRequired:
		headers.Set("www-authenticate", `Bearer error="insufficient_user_authentication", `+
			`error_description="A step-up is required", max_age=900`)
	case errorcodes.Unavailable:
		headers.Set("retry-after", "1")
	}
	w.WriteHeader(r.Status())
	_ = json.NewEncoder(w).Encode(map[string]any{
		"code": r.ErrorCode, "message": r.Message, "type": "urn:atrium:error:" + string(r.ErrorCode),
		"title": http.StatusText(r.Status()), "status": r.Status(), "detail": r.Message,
	})
}

func unauthorized(message string, cause error) *TokenRefusal {
	return &TokenRefusal{errorcodes.Unauthorized, message, cause}
}

func unavailable(message string, cause error) *TokenRefusal {
	return &TokenRefusal{errorcodes.Unavailable, message, cause}
}

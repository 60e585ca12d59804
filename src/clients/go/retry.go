package atrium

import (
	"context"
	"math/rand/v2"
	"net/http"
	"regexp"
	"strconv"
	"strings"
	"time"
)

const (
	firstWait   = 200 * time.Millisecond
	longestWait = 5 * time.Second
	// longestAskedWait: a service that asks for more is not waited for.
	longestAskedWait = 30 * time.Second
)

var seconds = regexp.MustCompile(`^[0-9]{1,9}$`)

// retryAfterOf reads Retry-After in both forms of RFC 9110 §10.2.3. What is neither counts as absent.
func retryAfterOf(value string, now time.Time) (time.Duration, bool) {
	text := strings.TrimSpace(value)
	if seconds.MatchString(text) {
		count, err := strconv.Atoi(text)
		return time.Duration(count) * time.Second, err == nil
	}
	at, err := http.ParseTime(text)
	if err != nil {
		return 0, false
	}
	return max(0, at.Sub(now)), true
}

// waitBefore returns how long to wait before the next attempt: full jitter up to longest, and at least as long as the
// service asked; false when it asked for more than longestAsked.
func waitBefore(attempt int, failure *Error, longestAsked, longest time.Duration) (time.Duration, bool) {
	if failure.RetryAfter > longestAsked {
		return 0, false
	}
	return failure.RetryAfter + rand.N(min(longest, firstWait<<min(attempt, 10))), true
}

// sleep waits, unless the context ends before.
func sleep(ctx context.Context, wait time.Duration) error {
	timer := time.NewTimer(wait)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

package atrium

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strconv"
	"time"

	"atrium.example/atrium/gen/go/errorcodes"
	"connectrpc.com/connect"
	standardwebhooks "github.com/standard-webhooks/standard-webhooks/libraries/go"
)

const (
	// reportTime is how long a report is sent again: a restart or a fail-over of the service is over by then.
	reportTime        = 10 * time.Minute
	longestReportWait = 30 * time.Second
	reportTimeout     = 10 * time.Second
)

// InstallReport is the outcome of what was accepted before.
type InstallReport struct {
	// Status is active, failed or deprovisioned.
	Status      string       `json:"status"`
	EndpointURL string       `json:"endpoint_url,omitempty"`
	Message     string       `json:"message,omitempty"`
	CloudTarget *CloudTarget `json:"cloud_target,omitempty"`
}

// reportCodes are the codes of the statuses with which a report is refused.
var reportCodes = map[int]connect.Code{
	http.StatusBadRequest:         connect.CodeInvalidArgument,
	http.StatusUnauthorized:       connect.CodeUnauthenticated,
	http.StatusConflict:           connect.CodeFailedPrecondition,
	http.StatusTooManyRequests:    connect.CodeResourceExhausted,
	http.StatusServiceUnavailable: connect.CodeUnavailable,
	http.StatusGatewayTimeout:     connect.CodeDeadlineExceeded,
}

// Report posts the outcome of what was accepted before, again for ten minutes while the service is busy or away, unless
// ctx ends before: a status that is known already changes nothing. It returns an *Error when the outcome was not taken:
// report it later, or it is lost.
func (p *Publisher) Report(ctx context.Context, installID string, report InstallReport) error {
	if len(p.options.Secrets) == 0 {
		return errors.New("atrium: the publisher has no secret")
	}
	body, err := json.Marshal(report)
	if err != nil {
		return err
	}
	ends := time.Now().Add(reportTime)
	for lost := 0; ; lost++ {
		failure := p.post(ctx, installID, "msg_"+installID+"_"+report.Status, body)
		if failure == nil {
			return nil
		}
		left := time.Until(ends)
		wait, ok := waitBefore(lost, failure, left, longestReportWait)
		if !ok || wait > left || !mayReportAgain(failure) || sleep(ctx, wait) != nil {
			return failure
		}
	}
}

func mayReportAgain(failure *Error) bool {
	// Nothing is decoded here that could have come truncated: such a code is a refusal.
	lost := failure.transient() && failure.Code() != connect.CodeInvalidArgument
	return lost || failure.Status >= http.StatusInternalServerError
}

func (p *Publisher) post(ctx context.Context, installID, id string, body []byte) *Error {
	ctx, cancel := context.WithTimeout(ctx, reportTimeout)
	defer cancel()
	address := p.options.BaseURL + "/api/marketplace/installs/" + url.PathEscape(installID) + "/provisioning"
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, address, bytes.NewReader(body))
	if err != nil {
		return errorOf(connect.NewError(connect.CodeInvalidArgument, err), time.Now())
	}
	now := time.Now()
	webhook, err := standardwebhooks.NewWebhook(p.options.Secrets[0])
	if err != nil {
		return errorOf(connect.NewError(connect.CodeFailedPrecondition, err), now)
	}
	signature, err := webhook.Sign(id, now, body)
	if err != nil {
		return errorOf(connect.NewError(connect.CodeFailedPrecondition, err), now)
	}
	request.Header.Set("content-type", "application/json")
	request.Header.Set(standardwebhooks.HeaderWebhookID, id)
	request.Header.Set(standardwebhooks.HeaderWebhookTimestamp, strconv.FormatInt(now.Unix(), 10))
	request.Header.Set(standardwebhooks.HeaderWebhookSignature, signature)
	response, err := p.options.HTTPClient.Do(request)
	if err != nil {
		return errorOf(connect.NewError(connect.CodeUnavailable, err), now)
	}
	defer response.Body.Close()
	text, err := io.ReadAll(io.LimitReader(response.Body, maxMessageSize))
	if err != nil {
		return errorOf(connect.NewError(connect.CodeUnavailable, err), now)
	}
	if response.StatusCode/100 == 2 {
		return nil
	}
	return refusalOf(response, text)
}

func refusalOf(response *http.Response, text []byte) *Error {
	// What is not JSON comes from something between the service and here.
	var problem struct{ Code, Message string }
	_ = json.Unmarshal(text, &problem)
	if problem.Message == "" {
		problem.Message = fmt.Sprintf("HTTP %d", response.StatusCode)
	}
	// What is no error of the service, such as a page of a proxy, is refused or lost by its status alone.
	code, ok := reportCodes[response.StatusCode]
	if !ok && response.StatusCode < http.StatusInternalServerError {
		code = connect.CodeInvalidArgument
	} else if !ok {
		code = connect.CodeUnknown
	}
	failure := errorOf(connect.NewError(code, errors.New(problem.Message)), time.Now())
	if problem.Code != "" {
		failure.ErrorCode, failure.Status = errorcodes.Code(problem.Code), response.StatusCode
	}
	failure.readHeaders(response.Header, time.Now())
	return failure
}

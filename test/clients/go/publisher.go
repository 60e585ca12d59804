package main

import (
	"context"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"

	atrium "atrium.example/atrium/src/clients/go"
)

type publisher struct {
	*atrium.Publisher
	handled int
}

func publisherOf(a *arguments) (*publisher, error) {
	mutex.Lock()
	defer mutex.Unlock()
	if known := publishers[a.Key]; known != nil {
		return known, nil
	}
	made := &publisher{}
	target, err := atrium.NewPublisher(atrium.PublisherOptions{
		Secrets: a.Secrets,
		BaseURL: a.URL,
		Provision: func(ctx context.Context, _ atrium.ProvisionRequest) (*atrium.Active, error) {
			if ctx.Err() != nil {
				return nil, ctx.Err()
			}
			made.handled++
			switch a.Outcome {
			case "active":
				return &atrium.Active{EndpointURL: "https://app.test"}, nil
			case "accepted":
				return nil, atrium.ErrAccepted
			default:
				return nil, &atrium.Refused{Message: "No room."}
			}
		},
		Deprovision: func(context.Context, atrium.InstallNotice) error { return nil },
	})
	if err != nil {
		return nil, err
	}
	made.Publisher = target
	publishers[a.Key] = made
	return made, nil
}

func publish(ctx context.Context, a *arguments) (any, error) {
	target, err := publisherOf(a)
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	if a.Gone {
		cancel()
	}
	var group sync.WaitGroup
	answers := make([][2]any, 2)
	for nth := range answers {
		group.Go(func() {
			request := httptest.NewRequestWithContext(ctx, http.MethodPost, "/", strings.NewReader(a.Body))
			request.Header = headersOf(a)
			recorder := httptest.NewRecorder()
			target.ServeHTTP(recorder, request)
			answers[nth] = [2]any{recorder.Code, recorder.Body.String()}
		})
	}
	group.Wait()
	return result{"answers": answers, "handled": target.handled}, nil
}

func report(ctx context.Context, a *arguments) (any, error) {
	outcome := atrium.InstallReport{Status: a.Status, EndpointURL: a.EndpointURL}
	target, err := publisherOf(a)
	if err != nil {
		return nil, err
	}
	return result{}, target.Report(ctx, a.InstallID, outcome)
}

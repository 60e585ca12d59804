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

func publisherOf(a *arguments) *publisher {
	mutex.Lock()
	defer mutex.Unlock()
	if known := publishers[a.Key]; known != nil {
		return known
	}
	made := &publisher{}
	made.Publisher = atrium.NewPublisher(atrium.PublisherOptions{
		Secrets: a.Secrets,
		BaseURL: a.URL,
		Provision: func(context.Context, atrium.ProvisionRequest) (*atrium.Active, error) {
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
	publishers[a.Key] = made
	return made
}

func publish(_ context.Context, a *arguments) (any, error) {
	target := publisherOf(a)
	var group sync.WaitGroup
	answers := make([][2]any, 2)
	for nth := range answers {
		group.Go(func() {
			request := httptest.NewRequest(http.MethodPost, "/", strings.NewReader(a.Body))
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
	return result{}, publisherOf(a).Report(ctx, a.InstallID, outcome)
}

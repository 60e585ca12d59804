// Command go-http is a backend whose users sign in at Atrium. It checks their tokens itself, lists members and receives
// webhooks.
//
//	ATRIUM_ISSUER    SERVICE_BASE_URL of the service
//	ATRIUM_URL       where the service is reached from here; default: at its issuer
//	ATRIUM_ORG_UUID  the organization whose members may come in: all others of the service are refused
//	ATRIUM_API_KEY   an API key of the organization, with the scope read:users
//	WEBHOOK_SECRETS  secrets of the webhook, by comma; two while it is rotated
//	PORT             where to listen on 127.0.0.1; default: a free port
package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"os"
	"strings"
	"sync"

	usersv1 "atrium.example/atrium/gen/go/atrium/users/v1"
	atrium "atrium.example/atrium/src/clients/go"
	"google.golang.org/protobuf/proto"
)

func setting(name, otherwise string) string {
	if value := os.Getenv(name); value != "" {
		return value
	}
	return otherwise
}

func main() {
	issuer := setting("ATRIUM_ISSUER", "http://localhost:8080")
	baseURL := setting("ATRIUM_URL", issuer)
	orgUUID := setting("ATRIUM_ORG_UUID", "")
	secrets := strings.FieldsFunc(setting("WEBHOOK_SECRETS", ""), func(char rune) bool { return char == ',' })
	if orgUUID == "" || len(secrets) == 0 {
		log.Fatal("Set ATRIUM_ORG_UUID and WEBHOOK_SECRETS.")
	}
	// Without Orgs the members of every organization of the service pass, and /members shows them this one's.
	orgs := []string{orgUUID}
	verifier := atrium.NewVerifier(atrium.VerifierOptions{Issuer: issuer, BaseURL: baseURL, Orgs: orgs})
	client := atrium.New(baseURL, atrium.WithCredential(atrium.APIKey(setting("ATRIUM_API_KEY", ""))))

	signedIn := atrium.Requirements{}
	mayManage := atrium.Requirements{Roles: []string{"admin", "manager"}, Entitlements: []string{"marketplace"}}
	afterStepUp := atrium.Requirements{Elevated: true}

	mux := http.NewServeMux()
	mux.Handle("GET /projects", guard(verifier, signedIn, func(w http.ResponseWriter, caller *atrium.Caller) {
		respond(w, map[string]any{"organization": caller.OrgName})
	}))
	mux.Handle("POST /projects", guard(verifier, mayManage, func(w http.ResponseWriter, caller *atrium.Caller) {
		respond(w, map[string]any{"created_by": caller.UserUUID})
	}))
	mux.Handle("DELETE /projects", guard(verifier, afterStepUp, func(w http.ResponseWriter, _ *atrium.Caller) {
		respond(w, map[string]any{"deleted": true})
	}))
	mux.Handle("GET /members", guard(verifier, signedIn, func(w http.ResponseWriter, _ *atrium.Caller) {
		members, err := listMembers(context.Background(), client)
		if err != nil {
			http.Error(w, string(atrium.CodeOf(err)), http.StatusBadGateway)
			return
		}
		respond(w, map[string]any{"members": members})
	}))
	mux.Handle("POST /webhooks", receive(secrets))

	listener, err := net.Listen("tcp", "127.0.0.1:"+setting("PORT", "0"))
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println("Listening on", listener.Addr().(*net.TCPAddr).Port)
	log.Fatal(http.Serve(listener, mux))
}

// guard responds as the service itself does to a request without a good token.
func guard(
	verifier *atrium.Verifier, wanted atrium.Requirements, handle func(http.ResponseWriter, *atrium.Caller),
) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, request *http.Request) {
		caller, err := verifier.Authenticate(request)
		if err == nil {
			err = atrium.Require(caller, wanted)
		}
		var refusal *atrium.TokenRefusal
		if errors.As(err, &refusal) {
			refusal.ServeHTTP(w, request)
			return
		}
		handle(w, caller)
	})
}

func listMembers(ctx context.Context, client *atrium.Client) ([]string, error) {
	var members []string
	request := &usersv1.ListUsersRequest{Status: proto.String("active")}
	for member, err := range atrium.Paginate(ctx, client.Users.ListUsers, request).All() {
		if err != nil {
			return nil, err
		}
		members = append(members, member.GetEmail())
	}
	return members, nil
}

func receive(secrets []string) http.Handler {
	// What is delivered twice has the id of the first delivery.
	var seen sync.Map
	return http.HandlerFunc(func(w http.ResponseWriter, request *http.Request) {
		body, err := io.ReadAll(http.MaxBytesReader(w, request.Body, 1<<20))
		if err != nil {
			w.WriteHeader(http.StatusBadRequest)
			return
		}
		event, err := atrium.VerifyWebhook(secrets, body, request.Header)
		if errors.Is(err, atrium.ErrWebhookSecret) {
			log.Print(err)
			w.WriteHeader(http.StatusInternalServerError)
			return
		}
		if err != nil {
			w.WriteHeader(http.StatusUnauthorized)
			return
		}
		if _, again := seen.LoadOrStore(event.ID, true); !again {
			fmt.Println(event.Type)
		}
		w.WriteHeader(http.StatusNoContent)
	})
}

func respond(w http.ResponseWriter, body any) {
	w.Header().Set("content-type", "application/json")
	_ = json.NewEncoder(w).Encode(body)
}

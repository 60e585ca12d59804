// Command go executes what a test asks for with the client: one JSON object a line, answers in any order.
package main

import (
	"bufio"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"os"
	"slices"
	"sync"
	"time"

	accessv1 "atrium.example/atrium/gen/go/atrium/access/v1"
	credentialsv1 "atrium.example/atrium/gen/go/atrium/credentials/v1"
	loginv1 "atrium.example/atrium/gen/go/atrium/login/v1"
	marketplacev1 "atrium.example/atrium/gen/go/atrium/marketplace/v1"
	usersv1 "atrium.example/atrium/gen/go/atrium/users/v1"
	"atrium.example/atrium/gen/go/errorcodes"
	atrium "atrium.example/atrium/src/clients/go"
	"google.golang.org/protobuf/proto"
)

type arguments struct {
	URL         string            `json:"url"`
	Token       string            `json:"token"`
	Retries     *int              `json:"retries"`
	Timeout     *float64          `json:"timeout"`
	Email       string            `json:"email"`
	Password    string            `json:"password"`
	OrgName     string            `json:"org_name"`
	OrgUUID     string            `json:"org_uuid"`
	Name        string            `json:"name"`
	KeyID       string            `json:"key_id"`
	Limit       *uint32           `json:"limit"`
	Offset      *uint32           `json:"offset"`
	Cursor      *string           `json:"cursor"`
	Max         int               `json:"max"`
	Key         string            `json:"key"`
	FirstName   string            `json:"first_name"`
	Count       int               `json:"count"`
	Issuer      string            `json:"issuer"`
	BaseURL     string            `json:"base_url"`
	Introspect  bool              `json:"introspect"`
	Refused     []string          `json:"refused"`
	Secrets     []string          `json:"secrets"`
	Body        string            `json:"body"`
	Headers     map[string]string `json:"headers"`
	Outcome     string            `json:"outcome"`
	InstallID   string            `json:"install_id"`
	Status      string            `json:"status"`
	EndpointURL string            `json:"endpoint_url"`
	Roles       []string          `json:"roles"`
	// Context is how many seconds the context of the operation lasts.
	Context float64 `json:"context"`
	// Gone: the request of a message ends before it is handled.
	Gone bool `json:"gone"`
}

type result map[string]any

type operation func(context.Context, *arguments) (any, error)

func (a *arguments) client() *atrium.Client {
	options := []atrium.Option{atrium.WithTimeout(time.Minute)}
	if a.Token != "" {
		options = append(options, atrium.WithCredential(atrium.Bearer(a.Token)))
	}
	if a.Retries != nil {
		options = append(options, atrium.WithRetries(*a.Retries))
	}
	if a.Timeout != nil {
		options = append(options, atrium.WithTimeout(time.Duration(*a.Timeout*float64(time.Second))))
	}
	return atrium.New(a.URL, options...)
}

func login(ctx context.Context, a *arguments) (any, error) {
	answer, err := a.client().Login.Login(ctx, &loginv1.LoginRequest{
		Email: a.Email, Password: a.Password, OrgName: a.OrgName,
	})
	return result{"token": answer.GetAccessToken()}, err
}

func me(ctx context.Context, a *arguments) (any, error) {
	answer, err := a.client().Access.GetMe(ctx, &accessv1.GetMeRequest{})
	principal := answer.GetPrincipal().GetType()
	return result{"email": answer.GetEmail(), "org_uuid": answer.GetOrgUuid(), "principal": principal}, err
}

func createKey(ctx context.Context, a *arguments) (any, error) {
	answer, err := a.client().Credentials.CreateApiKey(ctx, &credentialsv1.CreateApiKeyRequest{
		OrgUuid: a.OrgUUID, Name: a.Name, Scopes: []string{"read:users"},
	})
	return result{"key_id": answer.GetKeyId(), "secret": answer.GetApiKey()}, err
}

func revokeKey(ctx context.Context, a *arguments) (any, error) {
	request := &credentialsv1.RevokeApiKeyRequest{OrgUuid: a.OrgUUID, KeyId: a.KeyID}
	_, err := a.client().Credentials.RevokeApiKey(ctx, request)
	return result{}, err
}

func listUsers(ctx context.Context, a *arguments) (any, error) {
	answer, err := a.client().Users.ListUsers(ctx, &usersv1.ListUsersRequest{Limit: a.Limit})
	emails := []string{}
	for _, user := range answer.GetData() {
		emails = append(emails, user.GetEmail())
	}
	return result{"emails": emails}, err
}

func invitations(ctx context.Context, a *arguments) (any, error) {
	request := &usersv1.ListInvitationsRequest{OrgUuid: a.OrgUUID, Limit: a.Limit}
	ids := []string{}
	for item, err := range atrium.Paginate(ctx, a.client().Users.ListInvitations, request).All() {
		if err != nil {
			return nil, err
		}
		ids = append(ids, item.GetInvitationId())
	}
	return result{"ids": ids}, nil
}

// members returns the first so many members of a list, and where it goes on.
func members(ctx context.Context, a *arguments) (any, error) {
	ids := []string{}
	request := &usersv1.ListUsersRequest{Limit: a.Limit, Offset: a.Offset, Cursor: a.Cursor}
	pages := atrium.Paginate(ctx, a.client().Users.ListUsers, request)
	for item, err := range pages.All() {
		if err != nil {
			return nil, err
		}
		ids = append(ids, item.GetUserUuid())
		if len(ids) == a.Max {
			break
		}
	}
	return result{"ids": ids, "cursor": pages.Cursor()}, nil
}

func updateProfile(ctx context.Context, a *arguments) (any, error) {
	name := cmp.Or(a.FirstName, "Ada")
	_, err := a.client().Users.UpdateProfile(ctx, &usersv1.UpdateProfileRequest{FirstName: proto.String(name)})
	return result{}, err
}

// hurry tells whether a call that takes too long for its caller is cancelled.
func hurry(ctx context.Context, a *arguments) (any, error) {
	ctx, cancel := context.WithCancel(ctx)
	defer time.AfterFunc(200*time.Millisecond, cancel).Stop()
	_, err := a.client().Access.GetMe(ctx, &accessv1.GetMeRequest{})
	isCanceled := atrium.CodeOf(err) == errorcodes.Canceled && errors.Is(err, context.Canceled)
	return result{"cancelled": isCanceled}, nil
}

// watch reads a stream to its end.
func watch(ctx context.Context, a *arguments) (any, error) {
	messages, err := a.client().Buyer.WatchInstall(ctx, &marketplacev1.WatchInstallRequest{})
	if err != nil {
		return nil, err
	}
	defer messages.Close()
	for messages.Receive() {
	}
	return result{}, messages.Err()
}

// many makes so many calls at once.
func many(ctx context.Context, a *arguments) (any, error) {
	var group sync.WaitGroup
	client, failures := a.client(), make([]error, a.Count)
	for nth := range a.Count {
		group.Go(func() { _, failures[nth] = client.Access.GetMe(ctx, &accessv1.GetMeRequest{}) })
	}
	group.Wait()
	return result{"answers": a.Count}, errors.Join(failures...)
}

var (
	mutex      sync.Mutex
	verifiers  = map[string]*atrium.Verifier{}
	publishers = map[string]*publisher{}
)

func verify(ctx context.Context, a *arguments) (any, error) {
	key := fmt.Sprintln(a.Key, a.Issuer, a.BaseURL, a.Introspect)
	mutex.Lock()
	if verifiers[key] == nil {
		options := atrium.VerifierOptions{Issuer: a.Issuer, BaseURL: a.BaseURL, Introspect: a.Introspect}
		verifiers[key] = atrium.NewVerifier(options)
	}
	verifier := verifiers[key]
	mutex.Unlock()
	refused, unavailable := 0, 0
	for _, token := range a.Refused {
		var refusal *atrium.TokenRefusal
		if _, err := verifier.Verify(ctx, token); errors.As(err, &refusal) {
			refused++
			if refusal.Status() == http.StatusServiceUnavailable {
				unavailable++
			}
		}
	}
	caller, err := verifier.Verify(ctx, a.Token)
	if err != nil {
		return nil, err
	}
	answer := result{
		"org_name": caller.OrgName, "roles": slices.Clone(caller.Roles), "platform_admin": caller.PlatformAdmin,
		"elevated": caller.Elevated, "scopes": caller.Scopes, "refused": refused, "unavailable": unavailable,
	}
	err = atrium.Require(caller, atrium.Requirements{Roles: a.Roles})
	// What a handler does with its caller must not change that of the next request.
	clear(caller.Roles)
	clear(caller.Claims)
	return answer, err
}

func headersOf(a *arguments) http.Header {
	headers := http.Header{}
	for name, value := range a.Headers {
		headers.Set(name, value)
	}
	return headers
}

func webhook(_ context.Context, a *arguments) (any, error) {
	return atrium.VerifyWebhook(a.Secrets, []byte(a.Body), headersOf(a))
}

func failure(err error) result {
	var call *atrium.Error
	var token *atrium.TokenRefusal
	switch {
	case errors.As(err, &call) && !errors.As(err, &token):
		fields := []string{}
		for _, violation := range call.Violations {
			fields = append(fields, violation.Field)
		}
		return result{
			"kind": "call", "error_code": call.ErrorCode, "status": call.Status, "request_id": call.RequestID,
			"retry_after": call.RetryAfter.Seconds(), "violations": fields,
		}
	case errors.As(err, &token):
		return result{"kind": "token", "error_code": token.ErrorCode, "status": token.Status(), "message": token.Message}
	case errors.Is(err, atrium.ErrWebhookRefused):
		return result{"kind": "webhook", "status": http.StatusUnauthorized}
	default:
		return result{"kind": "other", "message": err.Error()}
	}
}

var operations = map[string]operation{
	"login": login, "me": me, "create_key": createKey, "revoke_key": revokeKey, "list_users": listUsers,
	"invitations": invitations, "members": members, "update_profile": updateProfile, "many": many,
	"hurry": hurry, "watch": watch,
	"verify":  verify,
	"webhook": webhook, "publish": publish, "report": report,
}

func main() {
	var output sync.Mutex
	var group sync.WaitGroup
	lines := bufio.NewScanner(os.Stdin)
	lines.Buffer(nil, 64<<20)
	for lines.Scan() {
		var job struct {
			ID   int        `json:"id"`
			Op   string     `json:"op"`
			Args *arguments `json:"args"`
		}
		if err := json.Unmarshal(lines.Bytes(), &job); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		group.Go(func() {
			answer := result{"id": job.ID}
			ctx := context.Background()
			if job.Args.Context > 0 {
				limited, cancel := context.WithTimeout(ctx, time.Duration(job.Args.Context*float64(time.Second)))
				defer cancel()
				ctx = limited
			}
			if value, err := operations[job.Op](ctx, job.Args); err != nil {
				answer["error"] = failure(err)
			} else {
				answer["result"] = value
			}
			output.Lock()
			defer output.Unlock()
			_ = json.NewEncoder(os.Stdout).Encode(answer)
		})
	}
	group.Wait()
}

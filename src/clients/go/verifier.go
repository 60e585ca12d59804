package atrium

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"regexp"
	"slices"
	"strings"
	"time"

	accessv1 "atrium.example/atrium/gen/go/atrium/access/v1"
	"atrium.example/atrium/gen/go/errorcodes"
	"connectrpc.com/connect"
	"github.com/golang-jwt/jwt/v5"
)

const (
	maxTokenLength = 16_384
	maxTokens      = 10_000
	// verified: a token is verified again after this time, so that one of a key that was withdrawn ends with its set.
	verified = 5 * time.Minute
	// ahead: a token from further in the future shows that a clock is wrong.
	ahead = time.Minute
)

var (
	uuidPattern   = regexp.MustCompile(`^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$`)
	bearerPattern = regexp.MustCompile(`(?i)^Bearer +(\S+)$`)
	// opaquePattern is what a key or an automation token may consist of; the service is not asked about anything else.
	opaquePattern = regexp.MustCompile(`^[!-~]{1,1000}$`)
)

// Verifier verifies access tokens with the published keys of their organizations, without a request for each: a token
// that was revoked passes until it expires, unless Introspect is set. It may be used by many goroutines at once.
type Verifier struct {
	rules   VerifierOptions
	keys    *keySets
	service *Client
	seen    *lru[string, verifiedToken]
}

type verifiedToken struct {
	caller *Caller
	until  time.Time
}

// VerifierOptions say which tokens a Verifier accepts.
type VerifierOptions struct {
	// Issuer is SERVICE_BASE_URL of the service: the iss of its tokens.
	Issuer string
	// BaseURL is where the service is reached from here; default: at its issuer. Keys are fetched from nowhere else.
	BaseURL string
	// Orgs are the organizations that are served here; default: all. Tokens that name others cost no request.
	Orgs []string
	// MaxAge is the longest time since a token was issued; default: until it expires.
	MaxAge time.Duration
	// Introspect asks the service about every credential, so that one that was revoked is refused at once and API keys
	// are accepted too.
	Introspect bool
	// HTTPClient reaches the service; default: one that follows no redirects.
	HTTPClient connect.HTTPClient
}

// NewVerifier returns a verifier of the tokens of one service.
func NewVerifier(rules VerifierOptions) *Verifier {
	if rules.BaseURL == "" {
		rules.BaseURL = rules.Issuer
	}
	if rules.HTTPClient == nil {
		rules.HTTPClient = &http.Client{CheckRedirect: noRedirects}
	}
	rules.BaseURL = strings.TrimRight(rules.BaseURL, "/")
	return &Verifier{
		rules:   rules,
		keys:    newKeySets(rules.BaseURL, rules.HTTPClient, rules.Orgs == nil),
		service: New(rules.BaseURL, WithHTTPClient(rules.HTTPClient)),
		seen:    newLRU[string, verifiedToken](maxTokens),
	}
}

// Verify returns the caller of a token, or a *TokenRefusal.
func (v *Verifier) Verify(ctx context.Context, token string) (*Caller, error) {
	if v.rules.Introspect {
		return v.Introspect(ctx, token)
	}
	return v.offline(ctx, token)
}

// Authenticate returns the caller of a request, or a *TokenRefusal.
func (v *Verifier) Authenticate(request *http.Request) (*Caller, error) {
	found := bearerPattern.FindStringSubmatch(request.Header.Get("authorization"))
	if found == nil {
		return nil, unauthorized("A token is required; send it as Authorization: Bearer.", nil)
	}
	return v.Verify(request.Context(), found[1])
}

// Introspect verifies, and asks the service now whatever the options say. It returns a *TokenRefusal on failure.
func (v *Verifier) Introspect(ctx context.Context, token string) (*Caller, error) {
	base := new(Caller)
	if strings.Count(token, ".") == 2 {
		known, err := v.offline(ctx, token)
		if err != nil {
			return nil, err
		}
		base = known
	} else if !opaquePattern.MatchString(token) {
		return nil, unauthorized("This is not a credential of the service.", nil)
	}
	// A token in the headers of the call takes precedence over credentials of the client, which has none here.
	ctx, call := connect.NewClientContext(ctx)
	call.RequestHeader().Set("authorization", "Bearer "+token)
	me, err := v.service.Access.GetMe(ctx, &accessv1.GetMeRequest{})
	if err != nil {
		if connect.CodeOf(err) == connect.CodeUnauthenticated {
			return nil, unauthorized("The service does not accept the credential.", err)
		}
		return nil, unavailable("The service cannot be asked about the credential.", err)
	}
	if !v.serves(me.GetOrgUuid()) {
		return nil, unauthorized("The credential is of an organization that is not served here.", nil)
	}
	return &Caller{
		UserUUID: me.GetUserUuid(), OrgUUID: me.GetOrgUuid(), OrgName: me.GetOrgName(), Roles: me.GetRoles(),
		Entitlements: me.GetEntitlements(), AppAdmin: me.GetAppAdmin(), PlatformAdmin: me.GetPlatformAdmin(),
		Sandbox: me.GetSandbox(), Elevated: base.Elevated, SessionID: base.SessionID,
		PrincipalType: me.GetPrincipal().GetType(), PrincipalID: me.GetPrincipal().GetId(), Claims: base.Claims,
		Scopes: me.GetScopes(),
	}, nil
}

func (v *Verifier) serves(org string) bool {
	return v.rules.Orgs == nil || slices.ContainsFunc(v.rules.Orgs, func(one string) bool {
		return strings.EqualFold(one, org)
	})
}

func (v *Verifier) offline(ctx context.Context, token string) (*Caller, error) {
	if known, ok := v.seen.get(token); ok && time.Now().Before(known.until) {
		return known.caller.clone(), nil
	}
	kid, org, err := v.addressOf(token)
	if err != nil {
		return nil, err
	}
	key, ok, err := v.keys.find(ctx, org, kid)
	if err != nil {
		return nil, err
	}
	if !ok {
		return nil, unauthorized("The token is signed by a key that its organization does not publish.", nil)
	}
	claims := jwt.MapClaims{}
	_, err = jwt.ParseWithClaims(token, claims, func(*jwt.Token) (any, error) { return key.key, nil },
		jwt.WithValidMethods([]string{key.algorithm}), jwt.WithIssuer(v.rules.Issuer), jwt.WithExpirationRequired())
	if errors.Is(err, jwt.ErrTokenExpired) {
		return nil, unauthorized("The token expired by the clock of this machine.", err)
	}
	if err != nil {
		return nil, unauthorized("The token is not valid.", err)
	}
	return v.accept(token, claims)
}

// accept judges the claims of a token whose signature is good.
func (v *Verifier) accept(token string, claims jwt.MapClaims) (*Caller, error) {
	issued, err := claims.GetIssuedAt()
	expires, _ := claims.GetExpirationTime()
	for _, name := range []string{"jti", "sub"} {
		if value, ok := claims[name].(string); !ok || value == "" {
			return nil, unauthorized("The token has no "+name+".", nil)
		}
	}
	if err != nil || issued == nil || expires == nil {
		return nil, unauthorized("The token is not valid.", err)
	}
	now := time.Now()
	if early := issued.Sub(now); early > ahead {
		return nil, unauthorized(fmt.Sprintf(
			"The token was issued %.0f seconds in the future; check the clock of this machine.", early.Seconds()), nil)
	}
	ends := expires.Time
	if oldest := issued.Add(v.rules.MaxAge); v.rules.MaxAge > 0 && oldest.Before(ends) {
		ends = oldest
	}
	if !now.Before(ends) {
		return nil, unauthorized("The token is older than this service accepts; refresh it.", nil)
	}
	caller := callerOf(claims)
	if latest := now.Add(verified); latest.Before(ends) {
		ends = latest
	}
	v.seen.set(token, verifiedToken{caller, ends})
	return caller.clone(), nil
}

// addressOf tells which key verifies a token: the organization is judged before a URL is made of it.
func (v *Verifier) addressOf(token string) (kid, org string, err error) {
	if len(token) > maxTokenLength {
		return "", "", unauthorized("The token is too long.", nil)
	}
	claims := jwt.MapClaims{}
	parsed, _, err := jwt.NewParser().ParseUnverified(token, claims)
	if err != nil {
		return "", "", unauthorized("The token is not a JWT.", err)
	}
	// No extension is known here: one must not be passed over (RFC 7515 §4.1.11).
	if _, critical := parsed.Header["crit"]; critical {
		return "", "", unauthorized("The token is not valid.", nil)
	}
	if parsed.Header["typ"] != "at+jwt" {
		return "", "", unauthorized("The token is not an access token.", nil)
	}
	if claims["iss"] != v.rules.Issuer {
		return "", "", unauthorized("The token comes from another issuer.", nil)
	}
	kid, ok := parsed.Header["kid"].(string)
	if !ok || kid == "" {
		return "", "", unauthorized("The token names no key.", nil)
	}
	org, _ = claims["org"].(string)
	if !uuidPattern.MatchString(org) {
		return "", "", unauthorized("The token names no organization.", nil)
	}
	if !v.serves(org) {
		return "", "", unauthorized("The token is of an organization that is not served here.", nil)
	}
	return kid, org, nil
}

// Require demands what a caller must have, and returns a *TokenRefusal (Forbidden or StepUpRequired) otherwise.
func Require(caller *Caller, wanted Requirements) error {
	has := func(owned []string) func(string) bool {
		return func(name string) bool { return slices.Contains(owned, name) }
	}
	// Decisions 2.5: the power of a key is its scopes within the present power of its maker.
	isNarrow := caller.PrincipalType == "api_key" && !slices.Contains(caller.Scopes, "admin")
	hasRole := !isNarrow && slices.ContainsFunc(wanted.Roles, has(caller.Roles))
	lacksRole := wanted.Roles != nil && !hasRole
	lacksFeature := !caller.PlatformAdmin && slices.ContainsFunc(wanted.Entitlements, func(name string) bool {
		return !slices.Contains(caller.Entitlements, name)
	})
	if lacksRole || lacksFeature {
		return &TokenRefusal{errorcodes.Forbidden, "The token does not grant this.", nil}
	}
	if wanted.Elevated && !caller.Elevated {
		message := "This needs a step-up; verify it and send the elevated token."
		return &TokenRefusal{errorcodes.StepUpRequired, message, nil}
	}
	return nil
}

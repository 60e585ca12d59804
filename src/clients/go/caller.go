package atrium

import (
	"maps"
	"slices"
)

// Caller is who a token speaks for, and what it says they may do.
type Caller struct {
	// UserUUID is the id of the person; empty for a key or an automation token.
	UserUUID string
	OrgUUID  string
	OrgName  string
	Roles    []string
	// Entitlements are features of the organization's plan, and app:<slug> for its active installs.
	Entitlements []string
	// AppAdmin are ids of the apps that the caller administers.
	AppAdmin      []string
	PlatformAdmin bool
	Sandbox       bool
	// Elevated tells whether the token comes from a step-up.
	Elevated bool
	// SessionID is empty for a key or an automation token.
	SessionID string
	// PrincipalType and PrincipalID name the credential, where it is not a person's token.
	PrincipalType string
	PrincipalID   string
	// Claims are all claims; none for a key or an automation token.
	Claims map[string]any
	// Scopes are those in force, where the service was asked; nil otherwise. An API key has the roles and apps of its
	// maker, and what they allow only as far as its scopes say.
	Scopes []string
}

// clone keeps what a handler does with its caller from the others with the same token.
func (c *Caller) clone() *Caller {
	copied := *c
	copied.Roles, copied.Entitlements = slices.Clone(c.Roles), slices.Clone(c.Entitlements)
	copied.AppAdmin, copied.Scopes = slices.Clone(c.AppAdmin), slices.Clone(c.Scopes)
	copied.Claims = maps.Clone(c.Claims)
	return &copied
}

// Requirements are what a caller must have. Everything that is given is demanded. Of API keys only those with the scope
// admin have the roles of their maker.
type Requirements struct {
	// Roles: one of these; an empty list that is not nil refuses everybody.
	Roles []string
	// Entitlements: all of these; platform admins have every one.
	Entitlements []string
	// Elevated: a step-up.
	Elevated bool
}

func callerOf(claims map[string]any) *Caller {
	name := func(claim string) string {
		value, _ := claims[claim].(string)
		return value
	}
	names := func(claim string) []string {
		values, _ := claims[claim].([]any)
		found := make([]string, 0, len(values))
		for _, value := range values {
			if text, ok := value.(string); ok {
				found = append(found, text)
			}
		}
		return found
	}
	return &Caller{
		UserUUID: name("sub"), OrgUUID: name("org"), OrgName: name("aud"), Roles: names("roles"),
		Entitlements: names("entitlements"), AppAdmin: names("app_admin"),
		PlatformAdmin: claims["platform_admin"] == true, Sandbox: claims["sandbox"] == true,
		Elevated: name("acr") == "elevated", SessionID: name("sid"), Claims: claims,
	}
}

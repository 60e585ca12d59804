package atrium

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
}

// Requirements are what a caller must have. Everything that is given is demanded.
type Requirements struct {
	// Roles: one of these.
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

//! People of a team.

use domain::{
    authz::Action,
    name::TeamName,
    people::{Actor, Member, Team, TeamRole},
};
use leptos::prelude::*;

use super::{len, may, team_trail};
use crate::{
    backend::Read,
    context::PageContext,
    frame::Content,
    text as t,
    ui::{
        Choice, Form, Input, button, cell, empty, head, input, panel, post_form, section, select, summary,
        table,
    },
};

const ROLES: [(TeamRole, &str); 3] =
    [(TeamRole::Viewer, "viewer"), (TeamRole::Member, "member"), (TeamRole::Lead, "lead")];

/// What the page shows.
pub(crate) struct MembersData {
    team: Team,
    members: Vec<Member>,
}

impl MembersData {
    pub(crate) async fn load(page: &PageContext, actor: &Actor, name: &TeamName) -> Read<Self> {
        Ok(Self {
            team: page.backend.team(actor, name).await?,
            members: page.backend.members(actor, name).await?,
        })
    }

    pub(crate) fn show(self, page: &PageContext) -> Content {
        let action = format!("/teams/{}/members", self.team.name);
        let form = Form { page, action: &action };
        let leads: Vec<_> = self.members.iter().filter(|m| m.role == TeamRole::Lead).collect();
        let may_lead = may(page.actor.as_ref(), Action::LeadTeam, Some(&self.team.name));
        let mut headings = vec![t::DISPLAY, t::LOGIN, t::ROLE];
        if may_lead {
            headings.push(t::ACTIONS);
        }
        let rows: Vec<_> = self.members.iter().map(|member| row(form, member, may_lead)).collect();
        let list = if rows.is_empty() {
            empty(t::MEMBERS_EMPTY, ().into_any())
        } else {
            table(t::MEMBERS, &headings, rows)
        };
        let title = t::members_title(self.team.display.as_str());
        let body = view! {
            {head(title.clone(), t::members_sentence(len(&self.members), len(&leads)), ().into_any())}
            {summary(form)}
            {list}
            {may_lead.then(|| section(t::ADD_MEMBER, panel(add(form))))}
        };
        Content { title, trail: team_trail(&self.team), body: body.into_any() }
    }
}

fn row(form: Form<'_>, member: &Member, may_lead: bool) -> AnyView {
    let actions = may_lead.then(|| cell(t::ACTIONS, change(form, member)));
    view! {
        <tr>
            {cell(t::DISPLAY, member.display.to_string())}
            {cell(t::LOGIN, view! { <code>{member.login.clone()}</code> })}
            {cell(t::ROLE, t::team_role(member.role))}
            {actions}
        </tr>
    }
    .into_any()
}

/// Another role, or out of the team. The buttons say whom they are about.
fn change(form: Form<'_>, member: &Member) -> AnyView {
    let options: Vec<_> = ROLES
        .iter()
        .map(|(role, value)| {
            view! { <option value=*value selected=*role == member.role>{t::team_role(*role)}</option> }
        })
        .collect();
    let name = member.display.as_str();
    let login = || view! { <input type="hidden" name="login" value=member.login.clone() /> };
    let set = view! {
        {login()}
        <input type="hidden" name="do" value="set" />
        <select class="select select-xs w-24" name="role" aria-label=t::role_of(name)>{options}</select>
        <button class="btn btn-xs" type="submit" aria-label=t::save_role(name)>{t::SAVE}</button>
    };
    let remove = view! {
        {login()}
        <input type="hidden" name="do" value="remove" />
        <button class="btn btn-xs btn-ghost text-error" type="submit" aria-label=t::remove(name)>{t::REMOVE}</button>
    };
    view! {
        <div class="flex flex-wrap gap-2 max-sm:justify-end">
            {post_form(form, "flex gap-1", set)}
            {post_form(form, "", remove)}
        </div>
    }
    .into_any()
}

fn add(form: Form<'_>) -> AnyView {
    let login = Input { name: "login", label: t::LOGIN, class: "min-w-48 flex-1", ..Input::default() };
    let role =
        Input { name: "role", label: t::ROLE, value: "member", class: "min-w-48 flex-1", ..Input::default() };
    let choices = ROLES
        .iter()
        .map(|(role, value)| Choice { value: (*value).to_owned(), text: t::team_role_long(*role).to_owned() })
        .collect();
    let fields = view! {
        <input type="hidden" name="do" value="set" />
        {input(form, login)}
        {select(form, role, choices)}
        {button("btn-primary sm:mt-6", "", "", t::ADD)}
    };
    post_form(form, "flex flex-wrap items-start gap-3", fields)
}

//! One request: what, whether it fits, what was said.

use domain::{
    api::RequestView,
    id::RequestId,
    name::TeamName,
    people::{Actor, Team},
    request::{Ask, RequestState},
};
use leptos::prelude::*;

use super::{decision, len, team_trail};
use crate::{
    backend::Read,
    context::PageContext,
    fit::fit_answer,
    frame::Content,
    text as t,
    ui::{
        Form, Icon, Input, Level, alert, back_link, button, day, facts, head, icon, kind_mark, moment, once,
        panel, post_form, request_badge, section, summary, textarea,
    },
};

/// What the page shows.
pub(crate) struct RequestData {
    team: Team,
    view: RequestView,
}

/// Something that happened, for the history.
struct Event {
    at: domain::Timestamp,
    mark: Icon,
    who: String,
    text: Option<String>,
}

impl RequestData {
    pub(crate) async fn load(
        page: &PageContext,
        actor: &Actor,
        name: &TeamName,
        id: RequestId,
    ) -> Read<Self> {
        let view = page.backend.request(actor, name, id).await?;
        Ok(Self { team: page.backend.team(actor, name).await?, view })
    }

    pub(crate) fn show(self, page: &PageContext) -> Content {
        let (view, request) = (&self.view, &self.view.request);
        let sentence = t::request_sentence(
            request.state,
            &request.created_by_display,
            len(&request.approvals),
            view.approvals_needed,
        );
        let denial = request
            .denial
            .clone()
            .map(|reason| view! { <div class="mb-4">{alert(Level::Bad, reason)}</div> });
        let body = view! {
            {head(view.summary.clone(), sentence, request_badge(request.state))}
            {decision::refusal(page, view)}
            {denial}
            <div class="grid items-start gap-4 lg:grid-cols-[minmax(0,1.4fr)_minmax(0,1fr)]">
                {panel(self.facts(page))}
                {self.pool(page)}
            </div>
            {self.history(page)}
            {self.comment(page)}
            {self.withdraw(page)}
        };
        let mut trail = team_trail(&self.team);
        trail.push((t::REQUESTS.to_owned(), format!("/teams/{}/requests", self.team.name)));
        Content { title: view.summary.clone(), trail, body: body.into_any() }
    }

    fn facts(&self, page: &PageContext) -> AnyView {
        let (request, offering) = (&self.view.request, &self.view.offering);
        let purpose =
            if request.purpose.is_empty() { t::TEXT_NONE.to_owned() } else { request.purpose.clone() };
        let mut rows = vec![
            (
                t::OFFERING,
                view! { <span class="mr-2">{offering.display.to_string()}</span> {kind_mark(&offering.kind)} }
                    .into_any(),
            ),
            (t::WHY, view! { <p class="whitespace-pre-line">{purpose}</p> }.into_any()),
            (t::ASKED, moment(page.now, request.created_at)),
        ];
        match &request.ask {
            Ask::New { shape, partition, until, .. } => {
                rows.insert(1, (t::SHAPE, t::shape(shape.nodes, shape.per_node).into_any()));
                rows.insert(2, (t::LAST_DAY, day(*until)));
                let fabric = if *partition { t::WITH_PARTITION } else { t::NO_PARTITION };
                rows.insert(3, (t::FABRIC, fabric.into_any()));
            }
            Ask::Change { shape, .. } => {
                rows.insert(1, (t::SHAPE, t::shape(shape.nodes, shape.per_node).into_any()));
            }
            Ask::Extend { until, .. } => rows.insert(1, (t::LAST_DAY, day(*until))),
        }
        if let Some(grant) = request.grant {
            let href = format!("/teams/{}/grants/{grant}", request.team);
            rows.push((t::GRANT_OF_REQUEST, back_link(href, t::SEE_GRANT)));
        }
        facts(rows)
    }

    /// The offering beside the request: what the decision is made on.
    fn pool(&self, page: &PageContext) -> AnyView {
        let view = &self.view;
        let unit = view.offering.display.to_string();
        let title = if view.fit.is_some() { t::FIT_TITLE } else { t::POOL_NOW };
        let fit = view.fit.as_ref().map(|fit| view! { <div class="mt-2">{fit_answer(&unit, fit)}</div> });
        let own = (view.request.state == RequestState::Submitted
            && page.actor.as_ref().is_some_and(|a| a.user == view.request.created_by)
            && super::may(page.actor.as_ref(), domain::authz::Action::DecideRequest, Some(&self.team.name)))
        .then(|| view! { <p class="quiet mt-3 text-sm">{t::OWN_REQUEST}</p> });
        let forms = view.may.decide.then(|| {
            view! {
                <p class="mt-4 mb-2 font-medium">{decision::effect(view)}</p>
                {decision::forms(page, view)}
            }
        });
        panel(view! {
            <h2>{title}</h2>
            {fit}
            <p class="quiet mt-2 text-sm">{t::now_free(view.free, view.limit, &unit)}</p>
            {forms}
            {own}
        })
    }

    fn events(&self) -> Vec<Event> {
        let request = &self.view.request;
        let mut events = vec![Event {
            at: request.created_at,
            mark: Icon::Plus,
            who: t::asked_by(&request.created_by_display),
            text: None,
        }];
        events.extend(request.approvals.iter().map(|a| Event {
            at: a.at,
            mark: Icon::Check,
            who: t::approved_by(if a.by.is_none() { t::BY_RULE } else { &a.display }),
            text: None,
        }));
        events.extend(self.view.comments.iter().map(|c| Event {
            at: c.at,
            mark: Icon::List,
            who: t::commented_by(&c.by_display),
            text: Some(c.text.clone()),
        }));
        let closed = match request.state {
            RequestState::Denied => Some((Icon::Cross, t::WAS_DENIED)),
            RequestState::Withdrawn => Some((Icon::Down, t::WAS_WITHDRAWN)),
            RequestState::Submitted | RequestState::Approved => None,
        };
        if let (Some(at), Some((mark, word))) = (request.decided_at, closed) {
            events.push(Event { at, mark, who: word.to_owned(), text: request.denial.clone() });
        }
        events.sort_by_key(|event| event.at);
        events
    }

    fn history(&self, page: &PageContext) -> AnyView {
        let events: Vec<_> = self
            .events()
            .into_iter()
            .map(|event| {
                let text = event.text.map(
                    |text| view! { <p class="mt-1 whitespace-pre-line [overflow-wrap:anywhere]">{text}</p> },
                );
                view! {
                    <li>
                        <span class="rung bg-base-300">{icon(event.mark)}</span>
                        <p>
                            <span class="font-medium">{event.who}</span> " "
                            <span class="quiet text-sm">{moment(page.now, event.at)}</span>
                        </p>
                        {text}
                    </li>
                }
            })
            .collect();
        section(t::HISTORY, panel(view! { <ol class="ladder">{events}</ol> }))
    }

    fn comment(&self, page: &PageContext) -> AnyView {
        if !self.view.may.comment {
            return ().into_any();
        }
        let action = format!("{}/comment", decision::path(&self.view));
        let form = Form { page, action: &action };
        let field = Input { name: "text", label: t::COMMENT, ..Input::default() };
        let fields = view! {
            {once(form)}
            {textarea(form, field, "3")}
            {button("btn-sm justify-self-start", "", "", t::COMMENT_BUTTON)}
        };
        view! { <div class="mt-4">{summary(form)} {post_form(form, "grid max-w-2xl gap-3", fields)}</div> }
            .into_any()
    }

    fn withdraw(&self, page: &PageContext) -> AnyView {
        if !self.view.may.withdraw {
            return ().into_any();
        }
        let action = format!("{}/withdraw", decision::path(&self.view));
        let content = view! {
            <div class="flex flex-wrap items-center justify-between gap-3">
                <p class="quiet max-w-prose text-[0.9375rem]">{t::WITHDRAW_HELP}</p>
                {button("btn-sm btn-outline btn-error", "", "", t::WITHDRAW)}
            </div>
        };
        section(t::WITHDRAW, panel(post_form(Form { page, action: &action }, "", content)))
    }
}

// SPDX-License-Identifier: GPL-2.0-only
#include <linux/errno.h>

#include "cs_links.h"

static enum link_kind kind_of(const struct cs_dev *d)
{
	return d->kind == CS_FUNNEL ? LINK_FUNNEL : LINK_REPLICATOR;
}

static struct cs_link *take(struct cs_links *all, struct cs_dev *dev, const char **why, int *rc)
{
	struct cs_link *k;
	unsigned int i;

	*rc = 0;
	for (i = 0; i < all->n; i++)
		if (all->link[i].dev == dev)
			return &all->link[i];
	*why = "its trace goes through more parts than this module programs";
	*rc = -E2BIG;
	if (all->n == CS_LINKS)
		return NULL;
	k = &all->link[all->n];
	*rc = link_open(&k->l, &dev->r, kind_of(dev), true);
	if (*rc) {
		*why = link_why_text(k->l.why);
		return NULL;
	}
	k->dev = dev;
	all->n++;
	return k;
}

int cs_way_take(struct cs_way *w, struct cs_links *all, const struct cs_path *path,
		const char **why)
{
	unsigned int i;
	int rc;

	for (i = 0; i < path->n; i++) {
		w->hop[i].link = take(all, path->hop[i].dev, why, &rc);
		if (!w->hop[i].link)
			return rc;
		w->hop[i].port = path->hop[i].port;
		*why = link_why_text(LINK_PORT);
		if (w->hop[i].port >= w->hop[i].link->l.ports)
			return -ENODEV;
	}
	w->n = path->n;
	return 0;
}

int cs_way_open(struct cs_way *w)
{
	unsigned int i = w->n;
	int rc = 0;

	if (w->open)
		return 0;
	while (i && !rc) {
		i--;
		rc = w->hop[i].link->lost ? -EIO :
			link_begin(&w->hop[i].link->l, w->hop[i].port);
	}
	if (!rc) {
		w->open = true;
		return 0;
	}
	for (i++; i < w->n; i++)
		link_end(&w->hop[i].link->l, w->hop[i].port);
	return rc;
}

void cs_way_close(struct cs_way *w)
{
	unsigned int i;

	for (i = 0; w->open && i < w->n; i++)
		link_end(&w->hop[i].link->l, w->hop[i].port);
	w->open = false;
}

void cs_links_give(struct cs_links *all)
{
	unsigned int i;

	for (i = 0; i < all->n; i++)
		link_close(&all->link[i].l);
}

void cs_links_take(struct cs_links *all)
{
	struct cs_link *k;
	unsigned int i;

	for (i = 0; i < all->n; i++) {
		k = &all->link[i];
		k->lost = link_open(&k->l, &k->dev->r, kind_of(k->dev), true);
	}
}
